import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { AccountNotice } from 'remex/auth'
import { AccountService } from 'remex/auth'
import { updatedBy } from 'remex/mongodb'
import t from 'tap'

import { createAccounts as createMembers } from '../../examples/accounts.ts'
import { createNotes as createKeyNotes } from '../../examples/api-keys.ts'
import { createPages as createAudited } from '../../examples/audit.ts'
import { createArchive, record as recordMeeting } from '../../examples/direct-uploads.ts'
import { createDesk, sendNote } from '../../examples/files.ts'
import { createShop } from '../../examples/jobs.ts'
import { createFeed, Feed, listTexts } from '../../examples/pages.ts'
import { createPayments, pay } from '../../examples/repeats.ts'
import { createPages as createRoles } from '../../examples/roles.ts'
import { createAccounts } from '../../examples/sign-up.ts'
import { createArticles } from '../../examples/slugs.ts'
import { createNotes } from '../../examples/soft-delete.ts'
import { createOrders, sumOrders } from '../../examples/streams.ts'
import { createShop as createHookedShop } from '../../examples/webhooks.ts'
import { openDatabase } from '../support/database.ts'
import { startS3 } from '../support/s3-server.ts'
import { until } from '../support/until.ts'

/** Guides whose code other tests compare. */
const ELSEWHERE = ['migrating-from-feathers.md', 'new-project.md', 'oauth.md', 'scaling.md']

const root = new URL('../../../', import.meta.url)
const guides = readdirSync(new URL('docs/guides', root)).filter((file) => !ELSEWHERE.includes(file))
const withoutIndent = (text: string): string => text.replace(/^ +/gm, '')
const examples = readdirSync(new URL('examples', root), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
  .map((file) => withoutIndent(readFileSync(new URL(`examples/${file}`, root), 'utf8')))

for (const guide of guides) {
  t.test(`every code block of the guide ${guide} stands in an example that runs`, async (t) => {
    const text = readFileSync(new URL(`docs/guides/${guide}`, root), 'utf8')
    const blocks = [...text.matchAll(/```[jt]s\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    t.ok(blocks.length > 0)
    for (const block of blocks) {
      const isThere = examples.some((example) => example.includes(withoutIndent(block)))
      t.ok(isThere, block.split('\n')[0] ?? '')
    }
  })
}

const SECRET = 'a secret of more than thirty-two bytes'
const PASSWORD = 'correct horse battery'
const { db } = await openDatabase(t)

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many services
  readonly body: any
}

/** Resolves to what sends requests to an example, which has a database without records. */
async function start<App extends { readonly fastify: FastifyInstance }>(create: () => App) {
  await db.dropDatabase()
  const app = create()
  await app.fastify.ready()
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
    token = '',
  ): Promise<Answer> => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
    const request = { method, url, headers, ...(payload && { payload }) }
    const { statusCode: status, body } = await app.fastify.inject(request)
    return { status, body: body === '' ? undefined : JSON.parse(body) }
  }
  return { app, send }
}

t.test('an order is confirmed by a job, and old carts are removed', async (t) => {
  const sent: unknown[] = []
  const { app, send } = await start(() =>
    createShop(db, async (to, text, id) => void sent.push([to, text, typeof id]), false),
  )
  t.teardown(() => app.close())
  const order = { email: 'ann@example.org', amount: 12 }
  t.match(await send('POST', '/orders', order), { status: 201, body: order })
  t.match(await send('GET', '/jobs'), { status: 405 })
  t.match(await send('POST', '/jobs/confirm-order', order), { status: 405 })
  const old = { changedAt: new Date(0) }
  await app.service('carts').create(old)
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.strictSame(sent, [['ann@example.org', 'Thank you for 12 EUR', 'string']])
  const [job] = (await app.jobs.find()).data
  t.match(job, { name: 'remove-carts', key: '' })
  t.ok((job?.runAt as Date) > new Date('2026-01-01'))
  t.strictSame(await app.jobs.run({ at: job?.runAt as Date }), { done: 1, failed: 0 })
  t.strictSame(await app.service('carts').find(), [])
})

t.test('an order is sent to the webhook of its user', async (t) => {
  const received: unknown[] = []
  const server = createServer((request, reply) => {
    received.push(request.headers['webhook-signature'])
    reply.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { app, send } = await start(() => createHookedShop(db, SECRET, true))
  t.teardown(() => app.close())
  const data = { email: 'ann@example.org', password: PASSWORD }
  await send('POST', '/users', data)
  const login = await send('POST', '/authentication', { strategy: 'local', ...data })
  const token = login.body.accessToken
  const endpoint = { url: `http://127.0.0.1:${port}/`, events: ['orders.created'] }
  t.match(await send('POST', '/webhooks', endpoint), { status: 401 })
  t.match(await send('POST', '/webhooks', endpoint, token), { status: 201 })
  t.match(await send('POST', '/orders', { amount: 12 }, token), { status: 201 })
  const list = async () => (await send('GET', '/webhook-deliveries', undefined, token)).body.data
  await until(async () => (await list())[0]?.status === 'delivered')
  t.match(received, [/^v1,/])
})

t.test('sign-up answers with a token, and with nothing secret', async (t) => {
  const { app, send } = await start(() => createAccounts(db, SECRET))
  t.teardown(() => app.close())
  const data = { email: 'Ann@example.org', password: PASSWORD }
  const { status, body } = await send('POST', '/users', data)
  t.equal(status, 201)
  t.strictSame(Object.keys(body), ['accessToken', 'user'])
  t.strictSame(Object.keys(body.user), ['_id', 'email'])
  const own = `/users/${body.user._id}`
  t.match(await send('GET', own), { status: 401 })
  t.match(await send('GET', own, undefined, body.accessToken), { body: body.user })
  t.match(await send('POST', '/users', { ...data, email: 'ann@EXAMPLE.org' }), { status: 409 })
  t.match(await send('POST', '/authentication', { strategy: 'local', ...data }), { status: 201 })
})

t.test('programs read and write notes by keys, as far as the scopes go', async (t) => {
  const { app, send } = await start(() => createKeyNotes(db, SECRET))
  t.teardown(() => app.close())
  const data = { email: 'ada@example.org', password: PASSWORD }
  await send('POST', '/users', data)
  const login = await send('POST', '/authentication', { strategy: 'local', ...data })
  const token = login.body.accessToken
  const scopes = ['notes:read']
  const { status, body } = await send('POST', '/api-keys', { name: 'backup', scopes }, token)
  t.equal(status, 201)
  await send('POST', '/notes', { text: 'Hello' }, token)
  const headers = { 'x-api-key': body.key }
  const read = await app.fastify.inject({ url: '/notes', headers })
  t.match(read.json(), [{ text: 'Hello' }])
  const payload = { text: 'Bye' }
  const write = await app.fastify.inject({ method: 'POST', url: '/notes', headers, payload })
  t.equal(write.statusCode, 403)
  t.match(await send('GET', '/api-keys', undefined, token), { body: { data: [{ scopes }] } })
})

t.test('keys of a person who signed up with the address of another end with a reset', async (t) => {
  const mails: AccountNotice[] = []
  const { app } = await start(() => {
    const created = createKeyNotes(db, SECRET)
    const notify = (mail: AccountNotice) => void mails.push(mail)
    const accounts = new AccountService(created, {
      notify,
      tokens: db.collection('accountTokens'),
    })
    created.use('accounts' as never, accounts as never)
    return created
  })
  t.teardown(() => app.close())
  // The first key is of the person who signed up with the address of Ada.
  const keys: string[] = []
  for (const email of ['ada@example.org', 'bob@example.org']) {
    const { insertedId } = await db.collection('users').insertOne({ email, password: 'unknown' })
    const made = { userId: String(insertedId), name: 'backup', scopes: ['notes:read'] }
    const { key } = (await app.service('api-keys').create(made)) as unknown as { key: string }
    keys.push(key)
  }
  const read = async (key: string | undefined) =>
    (await app.fastify.inject({ url: '/notes', headers: { 'x-api-key': String(key) } })).statusCode
  t.equal(await read(keys[0]), 200)
  const accounts = app.service('accounts' as never) as unknown as AccountService
  await accounts.requestReset({ email: 'ada@example.org' })
  await until(() => mails.length > 0)
  await accounts.resetPassword({
    token: String(mails[0]?.token),
    password: `another ${PASSWORD}`,
  })
  t.strictSame([await read(keys[0]), await read(keys[1])], [401, 200])
})

t.test('roles decide what members may do, and nobody chooses his own', async (t) => {
  const { app, send } = await start(() => createRoles(db, SECRET))
  t.teardown(() => app.close())
  const logIn = async (name: string): Promise<string> => {
    await send('POST', '/users', { name, password: PASSWORD })
    const login = { strategy: 'local', name, password: PASSWORD }
    return (await send('POST', '/authentication', login)).body.accessToken
  }
  const [ann, ben] = [await logIn('Ann'), await logIn('Ben')]
  const eve = { name: 'Eve', password: PASSWORD, role: 'editor' }
  t.match(await send('POST', '/users', eve), { status: 400 })
  const { body: page } = await send('POST', '/pages', { text: 'Hello' }, ann)
  const url = `/pages/${page._id}`
  t.match(await send('PATCH', url, { text: 'Ha' }, ben), { status: 404 })
  t.match(await send('PATCH', url, { text: 'Bye' }, ann), { status: 200, body: { text: 'Bye' } })
  t.match(await send('DELETE', url, undefined, ann), { status: 403 })
  t.match(await send('GET', '/users', undefined, ben), { status: 403 })
  await db.collection('users').updateOne({ name: 'Ben' }, { $set: { role: 'editor' } })
  t.match(await send('GET', '/users', undefined, ben), {
    status: 200,
    body: [{ role: 'writer' }, {}],
  })
  t.match(await send('PATCH', url, { text: 'Ha' }, ben), { status: 200 })
  t.match(await send('DELETE', url, undefined, ben), { status: 200 })
})

t.test('a feed goes on behind its last post, whatever is written meanwhile', async (t) => {
  await db.dropDatabase()
  const app = createFeed(db)
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.fastify.server.address() as AddressInfo).port}`
  const add = (minute: number) =>
    app.service('posts').create({ text: `post ${minute}`, at: new Date(minute * 60_000) })
  for (const minute of [1, 2, 3, 4, 5]) await add(minute)
  const feed = new Feed(url)
  await feed.loadMore()
  await add(6)
  while (feed.hasMore) await feed.loadMore()
  t.strictSame(feed.shown, ['post 5', 'post 4', 'post 3', 'post 2', 'post 1'])
  t.strictSame(await listTexts(url), ['post 6', ...feed.shown])
})

t.test('articles are found by slugs, which differ and stay', async (t) => {
  const { app, send } = await start(() => createArticles(db))
  t.teardown(() => app.close())
  const data = { title: 'Wie man fliegt: Übung', text: 'Flap.' }
  t.match(await send('POST', '/articles', data), { body: { slug: 'wie-man-fliegt-ubung' } })
  const { body: second } = await send('POST', '/articles', data)
  t.match(second.slug, /^wie-man-fliegt-ubung-[0-9a-f]{6}$/)
  t.strictSame(await send('GET', `/articles/${second.slug}`), { status: 200, body: second })
  const renamed = await send('PATCH', `/articles/${second.slug}`, { title: 'Other' })
  t.match(renamed.body, { slug: second.slug, title: 'Other' })
  t.match(await send('POST', '/articles', { ...data, slug: 'mine' }), { status: 400 })
  t.match(await send('POST', '/articles', { ...data, title: '日本' }), {
    body: { slug: 'untitled' },
  })
})

t.test('pages tell who has written them, and each change is in the log', async (t) => {
  const { app, send } = await start(() => createAudited(db, SECRET))
  t.teardown(() => app.close())
  const { body: user } = await send('POST', '/users', { name: 'Ann', password: PASSWORD })
  const login = { strategy: 'local', name: 'Ann', password: PASSWORD }
  const token = (await send('POST', '/authentication', login)).body.accessToken
  t.match(await send('POST', '/pages', { text: 'a' }), { status: 401 })
  t.match(await send('POST', '/pages', { text: 'a', createdBy: user._id }, token), { status: 400 })
  const { body: page } = await send('POST', '/pages', { text: 'a' }, token)
  t.match(page, { text: 'a', createdBy: user._id, updatedBy: user._id })
  t.equal(page.createdAt, page.updatedAt)
  const url = `/pages/${page._id}`
  const changed = await send('PATCH', url, { text: 'b' }, token)
  t.match(changed.body, { text: 'b', createdAt: page.createdAt })
  t.match(await send('DELETE', url, undefined, token), { status: 200 })
  const { body: log } = await send('GET', '/changes?$sort[at]=1', undefined, token)
  t.match(log, [
    { service: 'users', method: 'create', by: null, values: { name: 'Ann', password: undefined } },
    { service: 'pages', method: 'create', by: user._id, recordId: page._id, values: { text: 'a' } },
    { service: 'pages', method: 'patch', fields: ['text', 'updatedAt', 'updatedBy'] },
    { service: 'pages', method: 'remove', values: { text: 'b', createdBy: user._id } },
  ])
  t.equal(log.length, 4)
  const ofPage = await send('GET', `/changes?recordId=${page._id}&by=${user._id}`, undefined, token)
  t.equal(ofPage.body.length, 3)

  const fail = () => {
    throw new Error('The entry can not be written')
  }
  app.service('changes').hooks({ before: { create: [fail] } })
  t.match(await send('POST', '/pages', { text: 'c' }, token), { status: 500 })
  t.equal(await db.collection('pages').countDocuments(), 0)
})

t.test('a payment is made once, however often it is sent', async (t) => {
  const { app, send } = await start(() => createPayments(db, SECRET))
  t.teardown(() => app.close())
  const { body: user } = await send('POST', '/users', { name: 'Ann', password: PASSWORD })
  const login = { strategy: 'local', name: 'Ann', password: PASSWORD }
  const token = (await send('POST', '/authentication', login)).body.accessToken
  const payload = { to: 'Ben', cents: 250 }
  t.match(await send('POST', '/payments', payload, token), { status: 400 })
  let losses = 2
  app.server.prependListener('request', (request, response) => {
    if (request.url !== '/payments' || losses === 0) return
    losses -= 1
    response.writeHead = () => {
      request.socket.destroy()
      return response
    }
  })
  const server = await app.listen(0)
  const { port } = server.address() as AddressInfo
  t.match(await pay(`http://127.0.0.1:${port}`, token), { ...payload, createdBy: user._id })
  t.equal(losses, 0)
  t.equal((await send('GET', '/payments', undefined, token)).body.length, 1)
  const { body } = await send('GET', `/users/${user._id}`, undefined, token)
  t.equal(body.balance, 750)
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'b' }
  const large = {
    method: 'POST',
    url: '/payments',
    headers,
    payload: { to: 'Ben', cents: 751 },
  } as const
  t.equal((await app.fastify.inject(large)).statusCode, 402)
})

t.test('what is removed is not found, and can be restored', async (t) => {
  const { app, send } = await start(() => createNotes(db))
  t.teardown(() => app.close())
  const { body: note } = await send('POST', '/notes', { text: 'a' })
  const url = `/notes/${note._id}`
  const heard: unknown[] = []
  app.service('notes').on('removed', (record) => heard.push(record))
  t.match(await send('DELETE', url), { status: 200, body: note })
  t.equal(heard.length, 1)
  t.match(await send('DELETE', url), { status: 404 })
  t.match(await send('GET', url), { status: 404 })
  t.match(await send('PATCH', url, { text: 'b' }), { status: 404 })
  t.strictSame((await send('GET', '/notes')).body, [])
  t.equal((await send('DELETE', '/notes')).status, 405)
  t.ok((await db.collection('notes').findOne({}))?.['deletedAt'] instanceof Date)
  t.strictSame(await send('POST', '/notes/restore', { _id: note._id }), { status: 200, body: note })
  t.match(await send('POST', '/notes/restore', { _id: note._id }), { status: 404 })
  t.strictSame((await send('GET', '/notes')).body, [note])
})

t.test('who has restored a note is stored by hooks of the patch that it calls', async (t) => {
  const { app } = await start(() => createNotes(db))
  t.teardown(() => app.close())
  const notes = app.service('notes')
  notes.hooks({ before: { all: [updatedBy()] } })
  const { _id } = await notes.create({ text: 'a' })
  await notes.remove(_id)
  await notes.restore({ _id }, { user: { _id: 'ann' } })
  t.match(await db.collection('notes').findOne({}), { text: 'a', updatedBy: 'ann' })
})

t.test('an account is verified before its first login, and its password is reset', async (t) => {
  const mails: AccountNotice[] = []
  const create = () => createMembers(db, SECRET, (mail) => mails.push(mail))
  const { app, send } = await start(create)
  t.teardown(() => app.close())
  const email = 'ann@example.org'
  const tokenOf = async (count: number): Promise<string> => {
    await until(() => mails.length >= count)
    t.equal(mails[count - 1]?.email, email)
    return mails[count - 1]?.token ?? ''
  }
  const signUp = { email: 'Ann@example.org', password: PASSWORD }
  t.match(await send('POST', '/users', { ...signUp, isVerified: true }), { status: 400 })
  const { status, body: user } = await send('POST', '/users', signUp)
  t.equal(status, 201)
  t.strictSame(Object.keys(user), ['_id', 'email'])
  const login = { strategy: 'local', ...signUp }
  t.match(await send('POST', '/authentication', login), { status: 401 }, 'not verified yet')
  const first = await tokenOf(1)
  t.match(await send('POST', '/accounts/verifyEmail', { token: first }), { status: 200 })
  const { accessToken } = (await send('POST', '/authentication', login)).body
  t.match(await send('POST', '/notes', { text: 'Hello' }, accessToken), { status: 201 })
  t.match(await send('GET', '/notes', undefined, accessToken), { body: { total: 1 } })
  t.match(await send('GET', '/me', undefined, accessToken), { body: { email } })

  const unknown = await send('POST', '/accounts/requestReset', { email: 'ben@example.org' })
  t.strictSame(await send('POST', '/accounts/requestReset', { email: 'ANN@example.org' }), unknown)
  const token = await tokenOf(2)
  const password = 'another horse battery'
  const reset = (data: object) => send('POST', '/accounts/resetPassword', data)
  t.match(await reset({ token, password: 'short' }), { status: 400 })
  t.match(await reset({ token, password }), { status: 200, body: {} })
  t.match(await reset({ token, password }), { status: 400 })
  t.match(await send('GET', '/notes', undefined, accessToken), { status: 401 })
  t.match(await send('POST', '/authentication', { ...login, password }), { status: 201 })
})

t.test('orders are exported as CSV, by a link too, and summed by the client', async (t) => {
  const { app, send } = await start(() => createOrders(db, SECRET))
  t.teardown(() => app.close())
  const orders = Array.from({ length: 250 }, (_none, amount) => ({ customer: '=1', amount }))
  await app.service('orders').create(orders)
  const { _id } = await app.service('users').create({ email: 'ann@example.org' })
  const token = await app.service('authentication').createAccessToken({}, { subject: String(_id) })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const headers = { accept: 'text/csv', authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/orders?$select[]=customer&$select[]=amount`, { headers })
  const lines = (await answer.text()).split('\r\n')
  t.strictSame(lines.slice(0, 3), ['customer,amount', "'=1,0", "'=1,1"])
  t.equal(lines.length, 252)
  t.equal(await sumOrders(url, token), (249 * 250) / 2)

  const link = await send('POST', '/order-links', {}, token)
  t.equal(link.status, 201)
  const saved = await fetch(url + link.body.url)
  t.equal(saved.status, 200)
  t.match(saved.headers.get('content-disposition'), 'orders.csv')
  t.equal((await saved.text()).split('\r\n').length, 252)
  const linked = new URL(link.body.url, url).searchParams.get('access_token') ?? ''
  const { iat = 0, exp } = await app.service('authentication').verifyAccessToken(linked)
  t.equal(exp, iat + 120)
  const order = { customer: 'Bob', amount: 1 }
  t.match(await send('POST', '/orders', order, linked), { status: 403 })
  t.match(await send('POST', `/orders?access_token=${linked}`, order), { status: 403 })
  t.match(await send('POST', '/order-links', {}, linked), { status: 403 })
  t.match(await send('POST', '/orders', order, token), { status: 201 })
  t.match(await send('POST', '/order-links', {}), { status: 401 })
})

t.test('clients send files to S3 and get them from there, if hooks allow it', async (t) => {
  const { bucket, client, objects } = await startS3(t)
  const { app, send } = await start(() => createArchive(db, bucket, client))
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.fastify.server.address() as AddressInfo
  const copy = await recordMeeting(`http://127.0.0.1:${port}`, new Blob(['ID3 and sound']))
  t.equal(await copy.text(), 'ID3 and sound')
  t.equal(objects.size, 1)
  t.match(await send('POST', '/recordings?name=a', {}), { status: 403 })
})

t.test('users send files, read their own, and give links away', async (t) => {
  const { app, send } = await start(() => createDesk(db, SECRET))
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.fastify.server.address() as AddressInfo
  const login = { name: 'ann', password: PASSWORD }
  for (const name of ['ann', 'bob']) await send('POST', '/users', { ...login, name })
  t.equal(await sendNote(`http://127.0.0.1:${port}`, login), 'The printer is on fire')
  const [record] = await db.collection('attachments').find().toArray()
  t.match(record, { name: 'note.txt', ticket: '7', type: 'text/plain', size: 22 })
  const tokenOf = async (name: string) =>
    (await send('POST', '/authentication', { strategy: 'local', ...login, name })).body.accessToken
  const path = `/attachments/${record?.['_id']}`
  t.match(await send('GET', path, undefined, await tokenOf('bob')), { status: 404 })
  const { body } = await send('GET', path, undefined, await tokenOf('ann'))
  const content = await app.fastify.inject(body.url)
  t.match(content, { statusCode: 200, body: 'The printer is on fire' })
  t.match(await app.fastify.inject(`${path}/content`), { statusCode: 401 })
})
