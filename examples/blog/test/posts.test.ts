import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from './client.ts'
import { startBlog } from './start-blog.ts'

const { guest, signUp } = await startBlog()
const ann = await signUp('ann')
const bob = await signUp('bob')

const post = { title: 'Of tea', text: 'Not too hot.', tags: ['tea'] }

async function create(client: Client, more: object): Promise<string> {
  const { body } = await client.post('/posts', { ...post, ...more })
  return String(body._id)
}

const published = await create(ann, { draft: false })
const draft = await create(ann, { title: 'Of secrets' })
const others = await create(bob, { title: 'Of cups', tags: ['cups'], draft: false })

async function idsOf(client: Client, query: string): Promise<unknown[]> {
  const { status, body } = await client.get(`/posts?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return (body.data ?? []).map(({ _id }) => _id)
}

test('stores a new post as a draft of the caller, and names its author', async () => {
  const { status, body } = await ann.get(`/posts/${draft}`)
  assert.equal(status, 200)
  assert.equal(body['draft'], true)
  assert.equal(body['authorId'], ann.id)
  assert.deepEqual(body['author'], { _id: ann.id, name: 'ann' })
  assert.equal((await guest.post('/posts', post)).status, 401)
})

test('rejects posts for other authors, and fields that the blog sets', async () => {
  const fields = { authorId: bob.id, _id: draft, views: 9, createdAt: '2020-01-01', image: 'x.png' }
  for (const [name, value] of Object.entries({ ...fields, author: {}, $set: { views: 9 } })) {
    const data = { ...post, [name]: value }
    assert.equal((await ann.post('/posts', data)).status, 400, name)
    assert.equal((await ann.patch(`/posts/${draft}`, { [name]: value })).status, 400, name)
  }
  assert.equal((await ann.post('/posts', [post])).status, 405)
})

test('lets only its author change and remove a post', async () => {
  for (const client of [guest, bob]) {
    const status = client === guest ? 401 : 404
    assert.equal((await client.patch(`/posts/${published}`, { title: 'Mine' })).status, status)
    assert.equal((await client.remove(`/posts/${published}`)).status, status)
  }
  for (const query of [`authorId=${ann.id}`, `$or[0][authorId]=${ann.id}`]) {
    assert.equal((await bob.patch(`/posts/${published}?${query}`, { title: 'Mine' })).status, 404)
    assert.equal((await bob.remove(`/posts/${published}?${query}`)).status, 404)
  }
  const { body } = await ann.patch(`/posts/${published}`, { title: 'Of green tea' })
  assert.equal(body.title, 'Of green tea')
  assert.deepEqual(body['tags'], ['tea'])
})

test('rejects replacements, and changes or removals of many', async () => {
  assert.equal((await ann.send('PUT', `/posts/${published}`, post)).status, 405)
  assert.equal((await ann.patch('/posts?draft=true', { draft: false })).status, 405)
  assert.equal((await ann.remove('/posts?draft=true')).status, 405)
})

test('shows a draft only to its author, whatever others query', async () => {
  for (const client of [guest, bob]) {
    assert.equal((await client.get(`/posts/${draft}`)).status, 404)
    assert.equal((await client.get(`/posts/${draft}?draft=true&authorId=${ann.id}`)).status, 404)
    const queries = [
      'draft=true',
      `_id=${draft}`,
      'title=Of secrets&$select[]=title',
      `$or[0][draft]=true&$or[1][_id]=${draft}`,
      '$and[0][draft]=true',
      '$and[0][$or][0][draft]=true',
    ]
    for (const query of queries) assert.deepEqual(await idsOf(client, query), [], query)
    assert.deepEqual(await idsOf(client, '$sort[createdAt]=1'), [published, others])
  }
  assert.deepEqual(await idsOf(ann, 'draft=true'), [draft])
})

test('finds posts by the values of their fields', async () => {
  const since = new Date(0).toISOString()
  assert.deepEqual(await idsOf(guest, `authorId=${bob.id}`), [others])
  assert.deepEqual(await idsOf(guest, `authorId[$in][]=${bob.id}`), [others])
  assert.deepEqual(await idsOf(guest, 'tags=cups'), [others])
  assert.deepEqual(await idsOf(guest, `tags=cups&createdAt[$gt]=${since}&draft=false`), [others])
  assert.deepEqual(await idsOf(guest, 'createdAt[$lt]=2020-01-01T00:00:00Z'), [])
  const before = await guest.get(`/posts/${others}`)
  const views = Number(before.body['views'])
  assert.deepEqual(await idsOf(guest, `views[$gt]=${views}&tags=cups`), [others])
  assert.deepEqual(await idsOf(guest, `views[$gt]=${views + 1}&tags=cups`), [])
})

test('reports errors in a query by field', async () => {
  const queries = [
    ...['views=many', 'draft=yes', 'createdAt[$gt]=soon', 'authorId=ann', 'author.name=ann'],
    ...['views[$regex]=1', 'password=x', '$where=1', '$sort[author]=1', '$select[]=password'],
    ...['tags[$size]=1', '$or[0][x]=1', '$sort[views]=2', 'views[$gt][$gt]=1'],
  ]
  for (const query of queries) {
    const { status, body } = await guest.get(`/posts?${query}`)
    assert.equal(status, 400, query)
    const [{ instancePath = '', params } = {}] = body.data ?? []
    // The place of an unknown field is the object that contains it.
    const place = `${instancePath} ${JSON.stringify(params)}`
    assert.match(place, new RegExp(String(/[a-z]+/i.exec(query))), query)
  }
})

test('returns pages of posts, with the requested order and fields', async () => {
  const query = '$sort[createdAt]=-1&$limit=1&$skip=1&$select[]=title'
  const { body } = await guest.get(`/posts?${query}`)
  assert.equal(body.total, 2)
  assert.deepEqual(body.data, [{ _id: published, title: 'Of green tea' }])
})

test('selects every field that is sent', async () => {
  const { body } = await guest.get(`/posts/${others}`)
  const { author, ...fields } = body
  assert.deepEqual(author, { _id: bob.id, name: 'bob' })
  const query = [...Object.keys(fields), 'image'].map((name) => `$select[]=${name}`).join('&')
  const selected = await guest.get(`/posts/${others}?${query}`)
  assert.equal(selected.status, 200)
  assert.deepEqual(Object.keys(selected.body), Object.keys(body))
})

test('returns 404 for a removed post', async () => {
  const id = await create(ann, {})
  assert.equal((await ann.remove(`/posts/${id}`)).status, 200)
  assert.equal((await ann.get(`/posts/${id}`)).status, 404)
})
