import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import type { JSONWebKeySet } from 'jose'
import { createRemoteJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createApp, fastifyApp, rest } from 'remex'
import t from 'tap'
import { createHost } from '../../examples/host-login.ts'
import type { Email } from '../../examples/housekeeping.ts'
import { createShop, seed } from '../../examples/housekeeping.ts'
import { createReports } from '../../examples/jwks.ts'
import { addNotes } from '../../examples/mongodb-text-search.ts'
import { createFiles } from '../../examples/private-files.ts'
import { createProjects } from '../../examples/tenants.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'

const SECRET = 'a secret of more than thirty-two bytes'
const { db } = await openDatabase(t)

t.test('every code block of the page stands in an example that runs', async (t) => {
  const root = new URL('../../../', import.meta.url)
  const withoutIndent = (text: string): string => text.replace(/\s+/g, ' ')
  const examples = readdirSync(new URL('examples', root), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .map((file) => withoutIndent(readFileSync(new URL(`examples/${file}`, root), 'utf8')))
  const page = readFileSync(new URL('docs/how-do-i.md', root), 'utf8')
  const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
  t.ok(blocks.length > 15)
  for (const [, language, block = ''] of blocks) {
    t.equal(language, 'ts')
    const isThere = examples.some((example) => example.includes(withoutIndent(block)))
    t.ok(isThere, block.split('\n')[0] ?? '')
  }
})

interface Sent {
  readonly data?: object
  readonly token?: string
  readonly cookie?: string
  readonly method?: string
}

/** Listens on a free port. Resolves to what sends requests. */
async function serve(
  t: TestScope,
  server: FastifyInstance,
  close: () => unknown = () => server.close(),
) {
  t.teardown(close)
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const send = async (path: string, { data, token, cookie = '', method }: Sent = {}) => {
    const response = await fetch(url + path, {
      method: method ?? (data === undefined ? 'GET' : 'POST'),
      headers: {
        cookie,
        ...(data === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: data === undefined ? null : JSON.stringify(data),
    })
    const text = await response.text()
    const isJSON = response.headers.get('content-type')?.includes('json')
    // biome-ignore lint/suspicious/noExplicitAny: bodies of many services
    const body: any = isJSON ? JSON.parse(text) : text
    return { status: response.status, headers: response.headers, body }
  }
  const logIn = async (email: string): Promise<string> => {
    const data = { strategy: 'local', email, password: 'correct horse battery' }
    return (await send('/authentication', { data })).body.accessToken
  }
  return { url, send, logIn }
}

/** Starts an application of an example, with a database without records. */
async function start<App extends Started>(t: TestScope, create: () => App) {
  await db.dropDatabase()
  const app = create()
  // The application is set up with its server.
  return { app, ...(await serve(t, app.fastify, () => app.close())) }
}

interface Started {
  readonly fastify: FastifyInstance
  close(): Promise<unknown>
}

t.test('only its owner can download a file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'remex-files-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { send, logIn } = await start(t, () => createFiles(db, folder, SECRET))
  const [ada, bob] = ['ada@example.org', 'bob@example.org']
  for (const email of [ada, bob]) {
    await send('/users', { data: { email, password: 'correct horse battery' } })
  }
  const token = await logIn(ada)
  const data = { name: 'page.html', text: '<script>alert(1)</script>' }
  const { body: file } = await send('/files', { token, data })
  const { status, headers, body } = await send(`/downloads/${file._id}`, { token })
  t.strictSame([status, body], [200, data.text])
  t.match(Object.fromEntries(headers), {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  })
  const other = await send(`/downloads/${file._id}`, { token: await logIn(bob) })
  t.strictSame([other.status, other.headers.get('content-disposition')], [404, null])
  t.equal((await send(`/downloads/${file._id}`)).status, 401)
  t.equal((await send('/downloads/..%2f..%2fetc%2fpasswd', { token })).status, 404)
})

t.test('an order sends an email, a seed sends none and adds its records once', async (t) => {
  const emails: Email[] = []
  const shop = await start(t, () => createShop(db, async (email) => emails.push(email)))
  await seed(shop.app)
  await seed(shop.app)
  t.equal((await shop.app.service('orders').find()).length, 2)
  const order = { email: 'bob@example.org', product: 'cake' }
  t.equal((await shop.send('/orders', { data: order })).status, 201)
  t.strictSame(emails, [{ to: 'bob@example.org', subject: 'Your order: cake' }])
})

t.test('an order is stored when its email fails, and the failure is logged', async (t) => {
  const sendEmail = async () => Promise.reject(new Error('The mail server is away'))
  const { app, send } = await start(t, () => createShop(db, sendEmail))
  const logged: unknown[] = []
  app.logger = { ...app.logger, error: (_details: object, text: string) => logged.push(text) }
  const data = { email: 'bob@example.org', product: 'cake' }
  t.equal((await send('/orders', { data })).status, 201)
  t.strictSame(logged, ['The email of an order was not sent'])
})

t.test('members see the projects of their company, which only its admins change', async (t) => {
  const { app, send, logIn } = await start(t, () => createProjects(db, SECRET))
  const users = [
    { email: 'admin@acme.example', company: 'acme', role: 'admin' },
    { email: 'member@acme.example', company: 'acme', role: 'member' },
    { email: 'admin@other.example', company: 'other', role: 'admin' },
  ] as const
  const tokens: string[] = []
  for (const user of users) {
    await app.service('users').create({ ...user, password: 'correct horse battery' })
    tokens.push(await logIn(user.email))
  }
  const [admin = '', member = '', stranger = ''] = tokens
  const created = await send('/projects', { token: admin, data: { name: 'Tea' } })
  t.match(created, { status: 201, body: { name: 'Tea', company: 'acme' } })
  const project = `/projects/${created.body._id}`
  t.match((await send('/projects', { token: member })).body, [{ name: 'Tea' }])
  t.strictSame((await send('/projects', { token: stranger })).body, [])
  const foreign = { name: 'Tea', company: 'other' }
  t.equal((await send('/projects', { token: admin, data: foreign })).status, 400)
  const change = (token: string, method: string) =>
    send(project, { token, method, ...(method === 'DELETE' ? {} : { data: { name: 'New' } }) })
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    t.equal((await change(member, method)).status, 403)
    t.equal((await change(stranger, method)).status, 404)
  }
  t.match(await change(admin, 'PUT'), { status: 200, body: { name: 'New', company: 'acme' } })
  const data = { email: 'eve@acme.example', company: 'acme', role: 'admin' }
  t.equal((await send('/users', { data })).status, 405)
})

t.test('a search comes sorted by relevance, or as its caller asks', async (t) => {
  const { app, send } = await start(t, () => {
    const created = fastifyApp(createApp()).configure(rest())
    addNotes(created as never, db)
    return created
  })
  await app.service('notes').create([
    { _id: 1, title: 'Coffee', body: 'Stronger than tea' },
    { _id: 2, title: 'Green tea', body: 'Three minutes' },
    { _id: 3, title: 'Milk', body: 'With tea' },
  ] as never)
  const find = async (query: string): Promise<number[]> => {
    const { body } = await send(`/notes?$search=tea${query}`)
    return body.map(({ _id }: { _id: number }) => _id)
  }
  t.strictSame(await find(''), [2, 3, 1])
  t.strictSame(await find('&$skip=1&$limit=1'), [3])
  t.strictSame(await find('&$sort[_id]=-1'), [3, 2, 1])
})

t.test('services know who has logged in at the application around them', async (t) => {
  const { send } = await serve(t, createHost())
  const { headers } = await send('/login', { data: { name: 'Ada' } })
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  t.strictSame((await send('/api/notes', { cookie })).body, [{ text: 'A note of Ada' }])
  t.equal((await send('/api/notes')).status, 401)
  t.equal((await send('/api/notes', { cookie: 'sid=other' })).status, 401)
})

t.test('services trust the tokens of a login service, by the keys that it publishes', async (t) => {
  const [{ privateKey, publicKey }, other] = [
    await generateKeyPair('ES256'),
    await generateKeyPair('ES256'),
  ]
  const jwks: JSONWebKeySet = {
    keys: [{ ...(await exportJWK(publicKey)), kid: 'a', alg: 'ES256' }],
  }
  const login = fastify()
  login.get('/jwks', async () => jwks)
  const { url: issuer } = await serve(t, login)
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
  const audience = 'https://reports.example'
  const { send } = await start(t, () => createReports({ issuer, audience, keys }))
  const sign = ({ key = privateKey, kid = 'a', expires = '5m', ...claims } = {}) =>
    new SignJWT({ email: 'ada@example.org', iss: issuer, aud: audience, sub: '1', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setExpirationTime(expires)
      .sign(key)
  const { status, headers, body } = await send('/reports', { token: await sign() })
  t.strictSame([status, body], [200, [{ title: 'A report for ada@example.org' }]])
  t.equal(headers.get('cache-control'), 'no-store')
  for (const token of [
    await sign({ key: other.privateKey }),
    await sign({ kid: 'b' }),
    await sign({ expires: '-1m' }),
    await sign({ iss: 'https://other.example' } as object),
    await sign({ aud: 'https://other.example' } as object),
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`,
    'abc',
  ]) {
    t.match(await send('/reports', { token }), { status: 401, body: { name: 'NotAuthenticated' } })
  }
  t.equal((await send('/reports')).status, 401)
  t.equal((await send('/authentication', { data: { strategy: 'issuer', token: 'a' } })).status, 405)
})

t.test('when the keys cannot be fetched, no token is called wrong', async (t) => {
  const { privateKey } = await generateKeyPair('ES256')
  const login = fastify()
  login.get('/jwks', (_request, reply) => reply.code(503).send())
  const { url: issuer } = await serve(t, login)
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
  const { app, send } = await start(t, () => createReports({ issuer, audience: issuer, keys }))
  app.logger = { ...app.logger, error: () => undefined }
  const token = await new SignJWT({ iss: issuer, aud: issuer, sub: '1' })
    .setProtectedHeader({ alg: 'ES256', kid: 'a' })
    .setExpirationTime('5m')
    .sign(privateKey)
  t.equal((await send('/reports', { token })).status, 500)
})
