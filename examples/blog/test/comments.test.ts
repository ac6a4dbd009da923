import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from './client.ts'
import { startBlog } from './start-blog.ts'

const { app, guest, signUp } = await startBlog()
const ann = await signUp('ann')
const bob = await signUp('bob')
const eve = await signUp('eve')

/** Resolves to the path of the comments of a new post by Ann. */
async function createPost(draft: boolean): Promise<string> {
  const { body } = await ann.post('/posts', { title: 'Of tea', text: '', draft })
  return `/posts/${body._id}/comments`
}

async function comment(client: Client, path: string, text: string): Promise<string> {
  const { status, body } = await client.post(path, { text })
  assert.equal(status, 201)
  return `${path}/${body._id}`
}

test('members comment on a post, and guests read the comments with their authors', async () => {
  const path = await createPost(false)
  await comment(bob, path, 'Nice')
  assert.equal((await guest.post(path, { text: 'Nice' })).status, 401)
  const { body } = await guest.get(path)
  assert.deepEqual(
    body.data?.map(({ text, author }) => ({ text, author })),
    [{ text: 'Nice', author: { _id: bob.id, name: 'bob' } }],
  )
})

test('selects every field of a comment that is sent', async () => {
  const path = await createPost(false)
  await comment(bob, path, 'Nice')
  const [sent] = (await guest.get(path)).body.data ?? []
  const { author, ...fields } = sent ?? {}
  assert.deepEqual(author, { _id: bob.id, name: 'bob' })
  const query = Object.keys(fields).map((name) => `$select[]=${name}`)
  assert.deepEqual((await guest.get(`${path}?${query.join('&')}`)).body.data, [sent])
})

test('lists only comments of the post, whatever query and data say', async () => {
  const [path, other] = [await createPost(false), await createPost(false)]
  const of = await comment(bob, path, 'Nice')
  const postId = path.split('/')[2]
  assert.deepEqual((await guest.get(other)).body.data, [])
  for (const query of [`postId=${postId}`, `$or[0][postId]=${postId}`]) {
    assert.equal((await guest.get(`${other}?${query}`)).status, 400)
  }
  for (const more of [{ postId }, { authorId: ann.id }, { _id: postId }]) {
    assert.equal((await bob.post(other, { text: 'Nice', ...more })).status, 400)
  }
  assert.equal((await bob.remove(of.replace(path, other))).status, 404)
})

test('returns 404 for comments of a draft and of no post', async () => {
  const path = await createPost(true)
  await comment(ann, path, 'To do')
  for (const hidden of [path, '/posts/507f1f77bcf86cd799439011/comments', '/posts/x/comments']) {
    assert.equal((await guest.get(hidden)).status, 404)
    assert.equal((await bob.get(`${hidden}?authorId=${ann.id}`)).status, 404)
    assert.equal((await bob.post(hidden, { text: 'Nice' })).status, 404)
  }
  assert.equal((await ann.get(path)).body.total, 1)
})

test('lets only the author of a comment or of its post remove it', async () => {
  const path = await createPost(false)
  const paths = [await comment(bob, path, 'One'), await comment(bob, path, 'Two')]
  for (const comment of paths) {
    assert.equal((await guest.remove(comment)).status, 401)
    assert.equal((await eve.remove(comment)).status, 404)
    assert.equal((await eve.remove(`${comment}?authorId=${bob.id}`)).status, 404)
  }
  assert.equal((await bob.remove(String(paths[0]))).status, 200)
  assert.equal((await ann.remove(String(paths[1]))).status, 200)
  assert.equal((await guest.get(path)).body.total, 0)
})

test('rejects changes of comments, and removals of many', async () => {
  const path = await createPost(false)
  const one = await comment(bob, path, 'Nice')
  assert.equal((await bob.patch(one, { text: 'Bad' })).status, 405)
  assert.equal((await bob.send('PUT', one, { text: 'Bad' })).status, 405)
  for (const client of [ann, bob]) assert.equal((await client.remove(path)).status, 405)
})

test('removes the comments of a removed post', async () => {
  const [path, other] = [await createPost(false), await createPost(false)]
  for (const each of [path, path, other]) await comment(bob, each, 'Nice')
  const comments = app.service('posts/:postId/comments')
  const before = await comments.countDocuments()
  assert.equal((await ann.remove(path.replace('/comments', ''))).status, 200)
  assert.equal(await comments.countDocuments(), before - 2)
  assert.equal((await guest.get(other)).body.total, 1)
})
