import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { createConduit } from '../../examples/conduit.ts'
import type { OpenApiDocument } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'

const SECRET = 'a secret of more than thirty-two bytes'

interface Sent {
  readonly status: number
  readonly body: unknown
}

type Responses = Readonly<Record<string, { readonly $ref?: string }>>

t.test('the example speaks the given wire format, and its document has it', async (t) => {
  const { db, empty } = await openDatabase(t)
  for (const name of ['users', 'articles']) await empty(name)
  const app = createConduit(db, SECRET)
  t.teardown(() => app.close())
  await app.fastify.ready()
  const loaded = await app.fastify.inject({ url: '/docs/json' })
  const document = loaded.json<OpenApiDocument>()
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  let token = ''

  /** Sends a request, and holds its answer against the document. */
  const send = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    { place = url.replace(/\?.*/, ''), payload }: { place?: string; payload?: object } = {},
  ): Promise<Sent> => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
    const answer = await app.fastify.inject({ method, url, headers, ...(payload && { payload }) })
    const { statusCode: status } = answer
    const verb = method.toLowerCase()
    const operation = document.paths[place]?.[verb] as { responses: Responses } | undefined
    const code = Object.hasOwn(operation?.responses ?? {}, status) ? status : 'default'
    const path = encodeURIComponent(place.replaceAll('/', '~1'))
    const response = operation?.responses[code]?.$ref ?? `#/paths/${path}/${verb}/responses/${code}`
    const check = ajv.getSchema(`document${response}/content/application~1json/schema`)
    const body: unknown = answer.json()
    t.ok(check?.(body), `${status} of ${method} ${place}: ${ajv.errorsText(check?.errors)}`)
    return { status, body }
  }

  const ann = { email: 'ann@example.org', username: 'Ann', password: 'correct horse' }
  await t.test('whoever signs up gets a token, and is logged in by it', async (t) => {
    const { status, body } = await send('POST', '/users', { payload: { user: ann } })
    const { user } = body as { user: { token: string } }
    t.equal(status, 201)
    t.strictSame(Object.keys(user), ['email', 'username', 'token'])
    t.equal((await send('GET', '/user')).status, 401)
    token = user.token
    t.match(await send('GET', '/user'), { status: 200, body: { user: { username: 'Ann' } } })
    t.equal((await send('POST', '/users', { payload: ann })).status, 400, 'without its envelope')
  })

  await t.test('PUT /user changes whoever calls, and nobody else can be named', async (t) => {
    const payload = { user: { username: 'Anna' } }
    const changed = await send('PUT', '/user', { payload })
    t.match(changed, { status: 200, body: { user: { username: 'Anna', email: ann.email } } })
    const { _id } = (await db.collection('users').findOne({})) ?? {}
    const other = await app.fastify.inject({ method: 'PUT', url: `/user/${_id}`, payload })
    t.equal(other.statusCode, 404)
    t.equal((await send('PUT', '/user', { payload: { user: { role: 'admin' } } })).status, 400)
    t.notOk(document.paths['/user/{id}'])
  })

  await t.test('articles are in envelopes, and found by their slugs', async (t) => {
    const payload = { article: { title: 'How To Fly', body: 'Flap.', tagList: ['wings'] } }
    const created = await send('POST', '/articles', { payload })
    t.match(created, { status: 201, body: { article: { author: 'Anna', tagList: ['wings'] } } })
    const { article } = created.body as { article: { slug: string } }
    t.match(article.slug, /^how-to-fly-/)
    t.strictSame(Object.keys(article).sort(), ['author', 'body', 'slug', 'tagList', 'title'])
    const place = '/articles/{id}'
    const url = `/articles/${article.slug}`
    t.strictSame((await send('GET', url, { place })).body, { article })
    t.equal((await send('GET', '/articles/none', { place })).status, 404)
    const found = { articles: [article], articlesCount: 1 }
    t.strictSame((await send('GET', '/articles?tag=wings&limit=5')).body, found)
    t.strictSame((await send('GET', '/articles?tag=fins')).body, { articles: [], articlesCount: 0 })
    t.equal((await send('GET', '/articles?author=Ann')).status, 400)
    const chosen = { article: { ...payload.article, slug: 'mine' } }
    t.equal((await send('POST', '/articles', { payload: chosen })).status, 400)

    const favorite = '/articles/{slug}/favorite'
    for (const method of ['POST', 'DELETE'] as const) {
      const { body } = await send(method, `${url}/favorite`, { place: favorite })
      t.strictSame(body, { article })
      const stored = await db.collection('articles').findOne({})
      t.strictSame(stored?.['favoritedBy'], method === 'POST' ? ['Anna'] : [])
    }
    t.equal((await send('DELETE', '/articles/none/favorite', { place: favorite })).status, 404)

    const follow = { place: '/profiles/{username}/follow' }
    const feed = async () => (await send('GET', '/articles/feed?limit=5')).body
    t.strictSame(await feed(), { articles: [], articlesCount: 0 })
    const profile = { username: 'Anna', following: true }
    t.strictSame((await send('POST', '/profiles/Anna/follow', follow)).body, { profile })
    t.strictSame(await feed(), found)
    const left = { profile: { ...profile, following: false } }
    t.strictSame((await send('DELETE', '/profiles/Anna/follow', follow)).body, left)
    t.strictSame(await feed(), { articles: [], articlesCount: 0 })
    t.strictSame((await send('DELETE', url, { place })).body, { article })
  })

  t.test('its other paths are those of the document', (t) => {
    t.strictSame(Object.keys(document.paths).sort(), [
      '/articles',
      '/articles/feed',
      '/articles/{id}',
      '/articles/{slug}/favorite',
      '/authentication',
      '/profiles/{username}/follow',
      '/user',
      '/users',
    ])
    t.end()
  })
})
