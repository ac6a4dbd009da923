import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import t from 'tap'
import { FileService, gridFSStorage } from '../../src/adapter/files/index.ts'
import { limitTo } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { Forbidden } from '../../src/core/index.ts'
import { isSlowBody } from '../../src/transport/server/slow-bodies.ts'
import { leadClock } from '../support/clock.ts'
import { openDatabase } from '../support/database.ts'
import { Gate } from '../support/gate.ts'
import type { TestApp, TestAppOptions } from '../support/test-app.ts'
import { startApp } from '../support/test-app.ts'
import { laterTurns, until } from '../support/until.ts'

const { db } = await openDatabase(t)

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1')
const SECRET = 'the links of these tests are signed by this'
const MAX_BYTES = 2_000_000

/** Takes the name of the caller from a header, in the place of a login. */
const setUser = ({ params }: HookContext): void => {
  if (params.provider !== undefined) params.user = { name: params.headers?.['x-user'] } as never
}

const limitToOwner = limitTo(({ user }) => ({ owner: (user as { name: string }).name }))

type Options = Omit<Partial<ConstructorParameters<typeof FileService>[0]>, 'Model'>

/** Starts an application whose files belong to the users that have sent them. */
async function start(
  t: Test,
  options: Options = {},
  { hooks = {}, ...others }: TestAppOptions = {},
): Promise<TestApp> {
  for (const name of ['files', 'files.files', 'files.chunks', 'files.pending']) {
    await db.collection(name).deleteMany({})
  }
  const files = new FileService({
    ...{ Model: db.collection('files'), maxBytes: MAX_BYTES, forms: true, linkSecret: SECRET },
    ...options,
  })
  return startApp(t, {
    services: { files },
    hooks: { files: { before: { all: [setUser, limitToOwner] } }, ...hooks },
    ...others,
  })
}

const ADA = { 'x-user': 'ada' }
const EVE = { 'x-user': 'eve' }

async function upload(app: TestApp, body: string | Buffer, name = 'a.txt', type = 'text/plain') {
  const path = `/files?name=${encodeURIComponent(name)}`
  const answer = await app.request(path, { body, headers: { ...ADA, 'content-type': type } })
  return { ...answer, record: answer.body as { _id: string; name: string; hash: string } }
}

/** How much there is of each file: its record, what GridFS has, and the notes about it. */
const count = async () => {
  const names = ['files', 'files.files', 'files.chunks', 'files.pending']
  return Promise.all(names.map((name) => db.collection(name).countDocuments()))
}

const NOTHING = [0, 0, 0, 0]

t.test('stores the body of a create, whatever its type, and returns it', async (t) => {
  const app = await start(t)
  const text = '{"a":1}'
  const { status, headers, record } = await upload(app, text, 'Größe 1.json', 'application/json')
  t.equal(status, 201)
  t.equal(headers['location'], `/files/${record._id}`)
  const hash = '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862'
  const facts = { name: 'Größe 1.json', type: 'application/json', size: 7, hash, owner: 'ada' }
  t.strictSame(record, { _id: record._id, ...facts })
  t.strictSame((await app.request(`/files/${record._id}`, { headers: ADA })).body, record)
  const content = await app.request(`/files/${record._id}/content`, { headers: ADA })
  t.match(content, {
    ...{ status: 200, text },
    headers: {
      'content-type': 'application/json',
      'content-length': '7',
      etag: `"${hash}"`,
      'content-disposition': `attachment; filename="Gr__e 1.json"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.json`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-cache',
    },
  })
  t.strictSame(await count(), [1, 1, 1, 0])
})

t.test('the fields of an upload are converted by the schema, as those of forms are', async (t) => {
  const files = new FileService({ Model: db.collection('files'), forms: true })
  const integer = { type: 'integer' }
  const fields = { name: { type: 'string' }, ticket: integer }
  const entity = { type: 'object', properties: { ...fields, size: integer } }
  const schemas = { entity, create: { type: 'object', properties: fields } }
  const app = await startApp(t, { services: { files: [files, { schemas }] } })
  const raw = await app.request('/files?name=a&ticket=7', { body: 'x' })
  t.match(raw, { status: 201, body: { ticket: 7 } })
  const form = new FormData()
  form.set('ticket', '8')
  form.set('file', new File(['x'], 'b'))
  const answer = await fetch(`${app.url}/files`, { method: 'POST', body: form })
  t.match(await answer.json(), { name: 'b', ticket: 8, size: 1 })
  t.match(await app.request('/files?name=a&ticket=x', { body: 'x' }), { status: 400 })
  t.match(await app.request('/files?name=a&other=1', { body: 'x' }), { status: 400 })
})

t.test('reads a form up to its file, which must be its last part', async (t) => {
  const app = await start(t)
  const send = async (parts: readonly (readonly [string, string | File])[]) => {
    const body = new FormData()
    for (const [name, value] of parts) {
      if (typeof value === 'string') body.append(name, value)
      else body.append(name, value)
    }
    const response = await fetch(`${app.url}/files`, { method: 'POST', body, headers: ADA })
    return { status: response.status, body: await response.json() }
  }
  const file = new File([PNG], 'a "b".png', { type: 'image/png' })
  const tags = [['tag', 'x'] as const, ['tag', 'y'] as const]
  const { status, body } = await send([...tags, ['file', file]])
  t.equal(status, 201)
  t.match(body, { name: 'a "b".png', type: 'image/png', size: PNG.length, tag: ['x', 'y'] })
  t.match(await send([['file', file], ...tags]), { status: 400, body: { message: /last|after/ } })
  t.match(
    await send([
      ['file', file],
      ['file', file],
    ]),
    { status: 413 },
  )
  t.match(await send(tags), { status: 400, body: { message: 'The form has no file' } })
  t.strictSame(await count(), [1, 1, 1, 0])
})

/** The head of a field of a form whose boundary is `b`. */
const FIELD = 'content-disposition: form-data; name="x"\r\n'

t.test('fields of a form are text, and no larger together than other bodies', async (t) => {
  const app = await start(t)
  const last = 'content-disposition: form-data; name="file"; filename="a"\r\n\r\nx'
  const send = (...fields: readonly string[]) =>
    app.request('/files', {
      headers: { ...ADA, 'content-type': 'multipart/form-data; boundary=b' },
      body: [...fields.map((field) => `${FIELD}${field}`), last, '--']
        .map((part) => `--b${part === '--' ? part : `\r\n${part}`}\r\n`)
        .join(''),
    })
  t.match(await send('\r\n[1]'), { status: 201, body: { x: '[1]' } })
  t.match(await send('content-type: application/json\r\n\r\n[1]'), {
    ...{ status: 400, body: { message: "The field 'x' of the form must be text" } },
  })
  const large = Array.from({ length: 17 }, () => `\r\n${'a'.repeat(65_000)}`)
  t.match(await send(...large), { status: 413, body: { message: /fields of the form/ } })
  t.match(await send(...large.slice(1)), { status: 201 })
  t.strictSame(await count(), [2, 2, 2, 0])
})

t.test('a client that leaves within the fields of a form is no error of the server', async (t) => {
  const lines: { level: number }[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const app = await start(t, {}, { fastify: { logger: { level: 'debug', stream } } as object })
  const { request } = begin(app, { ...ADA, 'content-type': 'multipart/form-data; boundary=b' })
  request.on('error', () => undefined)
  const received = once(app.fastify.server, 'request')
  request.write(`--b\r\n${FIELD}\r\nbroken`)
  const [incoming] = (await received) as [IncomingMessage]
  await until(() => incoming.listenerCount('data') > 0)
  const left = new Promise((resolve) => incoming.once('close', resolve))
  request.destroy()
  await left
  await laterTurns()
  t.strictSame(
    lines.filter(({ level }) => level >= 50),
    [],
  )
})

t.test(
  'rejects forms unless they are allowed, uploads without a name, and data alone',
  async (t) => {
    const app = await start(t, { forms: false })
    const body = new FormData()
    body.set('file', new File(['x'], 'a'))
    t.equal((await fetch(`${app.url}/files`, { method: 'POST', body, headers: ADA })).status, 415)
    t.match(await app.request('/files', { body: '{"name":"a"}', headers: ADA }), {
      status: 400,
      body: { message: /name in the query/ },
    })
    await t.rejects(app.service('files').create({ name: 'a' }), { message: /needs bytes/ })
    const { record } = await upload(app, 'x')
    t.match(await app.request(`/files/${record._id}`, { method: 'PUT', data: {}, headers: ADA }), {
      status: 405,
    })
    t.strictSame(await count(), [1, 1, 1, 0])
  },
)

t.test('a patch changes the name, and nothing that follows from the bytes', async (t) => {
  const app = await start(t)
  const { record } = await upload(app, 'x')
  const data = { ...record, _id: undefined, name: '../b\r\n.txt', size: 9, hash: 'f', type: 'a/b' }
  const path = `/files/${record._id}`
  const { status, body } = await app.request(path, { method: 'PATCH', data, headers: ADA })
  t.equal(status, 200)
  t.strictSame(body, { ...record, name: 'b.txt' })
})

t.test('FILE-1: files of others are not found by id, link, range or HEAD', async (t) => {
  const app = await start(t)
  const { record } = await upload(app, 'secret')
  const path = `/files/${record._id}`
  const content = `${path}/content`
  const tag = { ...EVE, 'if-none-match': `"${record.hash}"` }
  t.match(await app.request(path, { headers: EVE }), { status: 404 })
  t.match(await app.request(content, { headers: EVE }), { status: 404 })
  t.match(await app.request(content, { headers: { ...EVE, range: 'bytes=0-1' } }), { status: 404 })
  t.match(await app.request(content, { headers: tag }), { status: 404 })
  t.match(await app.request(content, { headers: EVE, method: 'HEAD' }), { status: 404 })
  t.match(await app.request(path, { headers: EVE, method: 'DELETE' }), { status: 404 })
  t.match(await app.request(content, { headers: ADA }), { status: 200, text: 'secret' })
  t.strictSame(await count(), [1, 1, 1, 0])
})

t.test('FILE-2: a hostile name stays within its header, and names one file', async (t) => {
  const app = await start(t)
  const names = {
    'a\r\nSet-Cookie: x=1\r\n\r\n<html>': 'aSet-Cookie: x=1<html>',
    'a"; filename="b.exe': 'a"; filename="b.exe',
    '../../etc/passwd': 'passwd',
    'C:\\boot.ini': 'boot.ini',
    'invoice\u202Efdp.exe': 'invoicefdp.exe',
    '..': 'file',
    'a%0d%0a.txt': 'a%0d%0a.txt',
  }
  for (const [given, expected] of Object.entries(names)) {
    const { record } = await upload(app, 'x', given)
    t.equal(record.name, expected)
    const { headers } = await app.request(`/files/${record._id}/content`, { headers: ADA })
    t.equal(headers['set-cookie'], undefined)
    t.match(
      headers['content-disposition'],
      /^(?:inline|attachment); filename="[^"%\\]*"(?:; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?$/,
    )
  }
})

t.test('FILE-3: content that a browser could run is saved, whatever it claims to be', async (t) => {
  const app = await start(t)
  const script = '<script>alert(1)</script>'
  const cases: readonly (readonly [body: string, claimed: string, type: string, sent: string])[] = [
    [`<html>${script}`, 'image/png', 'text/html', 'attachment'],
    [` \n<!-- --><svg xmlns="">${script}</svg>`, 'image/jpeg', 'image/svg+xml', 'attachment'],
    [`\uFEFF${script}`, 'text/plain', 'text/html', 'attachment'],
    ['alert(1)', 'text/javascript', 'text/javascript', 'attachment'],
    ['<?xml version="1.0"?><a/>', 'application/pdf', 'text/html', 'attachment'],
    [`GIF89a=1;/*${script}*/`, 'text/html', 'image/gif', 'inline'],
    ['no image', 'image/png', 'application/octet-stream', 'attachment'],
    ['plain', 'text/plain', 'text/plain', 'inline'],
  ]
  for (const [body, claimed, type, kind] of cases) {
    const { record } = await upload(app, body, 'a.png', claimed)
    t.match(record, { type }, `${claimed}: ${body}`)
    const { headers, text } = await app.request(`/files/${record._id}/content`, { headers: ADA })
    t.equal(text, body)
    t.match(headers, {
      'content-type': kind === 'inline' ? type : 'application/octet-stream',
      'content-disposition': new RegExp(`^${kind};`),
      'content-security-policy': /default-src 'none'.*sandbox/,
      'x-content-type-options': 'nosniff',
    })
  }
})

t.test('shows HTML and SVG where they are allowed, without scripts', async (t) => {
  const app = await start(t, { inline: ['image/*'] })
  const { record } = await upload(app, '<svg/>', 'a.svg', 'image/svg+xml')
  const { headers } = await app.request(`/files/${record._id}/content`, { headers: ADA })
  t.match(headers, { 'content-type': 'image/svg+xml', 'content-disposition': /^inline/ })
  t.match(headers['content-security-policy'], /sandbox$/)
})

t.test('accepts only the types of the service, by their content', async (t) => {
  const app = await start(t, { types: ['image/*'] })
  t.match(await upload(app, PNG, 'a', 'text/plain'), { status: 201, body: { type: 'image/png' } })
  t.match(await upload(app, 'text', 'a', 'image/png'), { status: 415 })
  t.match(await upload(app, 'text', 'a', 'text/plain'), { status: 415 })
  t.strictSame(await count(), [1, 1, 1, 0])
})

/** Begins a chunked upload. */
function begin(app: TestApp, headers: Record<string, string> = ADA) {
  const { port } = app
  const options = { port, host: '127.0.0.1', path: '/files?name=a', method: 'POST', headers }
  const request = sendRequest({ ...options, agent: false })
  const answered = once(request, 'response').then(([response]) => response.resume().statusCode)
  answered.catch(() => undefined)
  return { request, answered }
}

t.test('FILE-4: an upload ends at the limit, whatever size it declares', async (t) => {
  const app = await start(t)
  const huge = begin(app, { ...ADA, 'content-length': '10000000000' })
  huge.request.flushHeaders()
  t.equal(await huge.answered, 413, 'by its declared size, before any of its bytes')
  huge.request.destroy()
  // Without a declared size, it could go on for ever.
  const endless = begin(app)
  endless.request.on('error', () => undefined)
  const part = Buffer.alloc(65_536)
  const write = (): unknown => endless.request.write(part, (error) => error ?? write())
  write()
  t.equal(await endless.answered, 413)
  endless.request.destroy()
  t.strictSame(await count(), NOTHING)
  // What follows the declared size is another request.
  const head = 'POST /files?name=a HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nContent-Length: 4\r\n\r\n'
  const next = 'GET /host HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  t.match(await app.raw(`${head}1234${next}`), /"size":4[\s\S]*HTTP\/1.1 200 OK/)
})

t.test('FILE-5: the hooks before a create run before the first byte is stored', async (t) => {
  const gate = new Gate()
  const app = await start(
    t,
    {},
    {
      hooks: { files: { before: { create: [() => gate.pass()] } } },
    },
  )
  const { request, answered } = begin(app)
  request.write('first')
  await gate.arrivals(1)
  t.strictSame(await count(), NOTHING)
  gate.open()
  request.end(' last')
  t.equal(await answered, 201)
  t.match(await db.collection('files').find().toArray(), [{ size: 10 }])
})

t.test('FILE-6: what a hook or the database rejects leaves nothing', async (t) => {
  const refuse = () => {
    throw new Forbidden('no')
  }
  const indexes = [{ key: { name: 1 }, unique: true }] as const
  for (const kind of ['before', 'after'] as const) {
    const app = await start(t, {}, { hooks: { files: { [kind]: { create: [refuse] } } } })
    t.match(await upload(app, 'x'), { status: 403 })
    t.strictSame(await count(), NOTHING, kind)
  }
  const app = await start(t, { indexes })
  t.match(await upload(app, 'x'), { status: 201 })
  t.match(await upload(app, 'x'), { status: 409 })
  t.strictSame(await count(), [1, 1, 1, 0])
  await db.collection('files').dropIndex('name_1')
})

t.test('FILE-7: broken uploads leave nothing, and the server answers', async (t) => {
  const app = await start(t)
  const uploads = Array.from({ length: 20 }, (_, index) => {
    const { request } = begin(app, index % 2 ? ADA : { ...ADA, 'content-length': '1000000' })
    request.on('error', () => undefined)
    request.write(Buffer.alloc(300_000))
    return request
  })
  await until(async () => (await db.collection('files.chunks').countDocuments()) === 20)
  t.equal(await db.collection('files.pending').countDocuments(), 20)
  for (const request of uploads) request.destroy()
  await until(async () => (await count()).join() === NOTHING.join())
  t.match(await upload(app, 'x'), { status: 201 })
})

t.test('FILE-8: a signed link opens one file until it expires', async (t) => {
  const app = await start(t)
  const clock = leadClock(t)
  const files = app.service('files') as unknown as FileService
  const { record } = await upload(app, 'secret')
  const other = await upload(app, 'other', 'b')
  const link = files.createLink(record._id, { expiresInMs: 60_000 })
  t.match(await app.request(link), { status: 200, text: 'secret' })
  t.match(await app.request(link, { headers: { range: 'bytes=2-3' } }), { status: 206, text: 'cr' })
  t.match(await app.request(link, { method: 'HEAD' }), { status: 200 })
  t.match((await app.request(link)).headers, { 'referrer-policy': 'no-referrer' })
  const forged = [
    link.replace(record._id, other.record._id),
    link.replace(/expires=\d+/, 'expires=9999999999'),
    link.replace(/signature=../, 'signature=AA'),
    link.replace(/&signature=.*/, '&signature='),
    `${link}&expires=9999999999`,
    link.replace(/expires=\d+&/, ''),
  ]
  for (const path of forged) t.match(await app.request(path), { status: 403 }, path)
  t.match(await app.request(`${link}&owner=ada`), { status: 400 })
  t.match(await app.request(link.replace('/content', '')), { status: 400 })
  clock.advance(61_000)
  t.match(await app.request(link), { status: 403, body: { message: 'The link has expired' } })
  const later = files.createLink(record._id)
  await app.request(`/files/${record._id}`, { method: 'DELETE', headers: ADA })
  t.match(await app.request(later), { status: 404 })
})

t.test('FILE-9: a DELETE for the id of a running upload does not touch it', async (t) => {
  const app = await start(t)
  const { request, answered } = begin(app)
  request.write(Buffer.alloc(300_000))
  await until(async () => (await db.collection('files.chunks').countDocuments()) === 1)
  const [note] = await db.collection('files.pending').find().toArray()
  const path = `/files/${note?.['file']}`
  t.match(await app.request(path, { method: 'DELETE', headers: ADA }), { status: 404 })
  request.end()
  t.equal(await answered, 201)
  const { headers } = await app.request(`${path}/content`, { headers: ADA, method: 'HEAD' })
  t.equal(headers['content-length'], '300000')
  t.strictSame(await count(), [1, 1, 2, 0])
})

t.test(
  'FILE-10: an upload may take longer than other requests, once hooks have accepted it',
  async (t) => {
    const app = await start(t, {}, { fastify: { connectionsCheckingInterval: 10 } as object })
    const { server } = app.fastify
    const { request, answered } = begin(app)
    request.write(Buffer.alloc(300_000))
    await until(async () => (await db.collection('files.chunks').countDocuments()) === 1)
    const timedOut = once(server, 'clientError')
    Object.assign(server, { requestTimeout: 50, headersTimeout: 50 })
    t.match(await timedOut, [{ code: 'ERR_HTTP_REQUEST_TIMEOUT' }])
    request.end(' last')
    t.equal(await answered, 201)
    const head = (line: string, type: string) =>
      `${line} HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nContent-Type: ${type}\r\nContent-Length: 999\r\n\r\n`
    const slow = [
      head('PATCH /files/1', 'application/json'),
      `${head('POST /files', 'multipart/form-data; boundary=b')}--b\r\n${FIELD}`,
    ]
    for (const text of slow) t.match(await app.raw(text), /^HTTP\/1.1 408/, 'other bodies may not')
  },
)

t.test('FILE-10: a connection on which nothing more of an upload arrives is closed', async (t) => {
  const app = await start(t)
  const opened = once(app.fastify.server, 'connection')
  const { request, answered } = begin(app)
  request.on('error', () => undefined)
  request.write(Buffer.alloc(300_000))
  const [socket] = (await opened) as [Socket]
  await until(async () => (await db.collection('files.chunks').countDocuments()) === 1)
  t.equal(socket.timeout, 30_000)
  // As Node does when this time has passed.
  socket.emit('timeout')
  await t.rejects(answered)
  await until(async () => (await count()).join() === NOTHING.join())
})

t.test('FILE-10: a storage may pause: the client is not silent then', async (t) => {
  // The second body has arrived as a whole, but has not been read.
  for (const [size, isWhole] of [
    [300_000, false],
    [50_000, true],
  ] as const) {
    const gate = new Gate()
    const storage = {
      ...gridFSStorage(db, { bucketName: 'files' }),
      write: async (_id: string, content: AsyncIterable<Uint8Array>) => {
        for await (const _part of content) await gate.pass()
      },
    }
    const app = await start(t, { storage })
    const opened = once(app.fastify.server, 'connection')
    const { request, answered } = begin(app)
    request.write(Buffer.alloc(size))
    if (isWhole) request.end()
    const [socket] = (await opened) as [Socket]
    await gate.arrivals(1)
    const { incoming } = (socket as unknown as { parser: { incoming: IncomingMessage } }).parser
    if (isWhole) await until(() => incoming.complete)
    else await until(() => incoming.readableLength > 0)
    socket.emit('timeout')
    t.equal(socket.timeout, 30_000)
    gate.open()
    if (!isWhole) request.end()
    t.equal(await answered, 201)
  }
})

t.test('an idle connection is closed after an upload that was rejected in between', async (t) => {
  const write = async (_id: string, content: AsyncIterable<Uint8Array>) => {
    for await (const _part of content) throw new Forbidden('full')
  }
  const storage = { ...gridFSStorage(db, { bucketName: 'files' }), write }
  const app = await start(t, { storage })
  const opened = once(app.fastify.server, 'connection')
  const headers = { ...ADA, 'content-length': '100000', connection: 'keep-alive' }
  const { request, answered } = begin(app, headers)
  const ended = once(app.fastify.server, 'request').then(([one]) => once(one, 'end'))
  request.write(Buffer.alloc(50_000))
  const [socket] = (await opened) as [Socket]
  t.equal(await answered, 403)
  request.end(Buffer.alloc(50_000))
  await ended
  // Node adds a second.
  await until(() => (socket.timeout ?? 0) >= app.fastify.server.keepAliveTimeout)
  request.destroy()
})

t.test('the body of an upload that a hook rejects has the limits of other bodies', async (t) => {
  const reject = () => {
    throw new Forbidden('no')
  }
  const app = await start(t, {}, { hooks: { files: { before: { create: [reject] } } } })
  const opened = once(app.fastify.server, 'connection')
  const { request, answered } = begin(app, { ...ADA, 'content-length': '100000' })
  request.write(Buffer.alloc(50_000))
  const [socket] = (await opened) as [Socket]
  t.equal(await answered, 403)
  t.notOk(isSlowBody(socket))
  request.destroy()
})

t.test('many uploads of one connection leave no listeners on it', async (t) => {
  const app = await start(t)
  const opened = once(app.fastify.server, 'connection')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const counts: number[] = []
  for (let index = 0; index < 3; index += 1) {
    const options = { agent, port: app.port, host: '127.0.0.1', method: 'POST', headers: ADA }
    const request = sendRequest({ ...options, path: '/files?name=a' })
    const answered = once(request, 'response')
    request.end('x')
    const [response] = await answered
    t.equal(response.statusCode, 201)
    await once(response.resume(), 'end')
    const [socket] = (await opened) as [Socket]
    counts.push(socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0))
  }
  t.equal(counts[1], counts[2])
})

t.test('answers ranges, conditions and HEAD', async (t) => {
  const app = await start(t)
  // More than one chunk of GridFS.
  const bytes = Buffer.from(Array.from({ length: 600_000 }, (_, index) => index % 251))
  const { record } = await upload(app, bytes, 'a', 'application/x-bytes')
  const get = async (headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(`${app.url}/files/${record._id}/content`, {
      headers: { ...ADA, ...headers },
      method,
    })
    return { ...response, response, bytes: Buffer.from(await response.arrayBuffer()) }
  }
  const ranges: Readonly<Record<string, readonly [start: number, end: number]>> = {
    'bytes=0-0': [0, 1],
    'bytes=261119-261121': [261_119, 261_122],
    'bytes=261120-522239': [261_120, 522_240],
    'bytes=599999-': [599_999, 600_000],
    'bytes=-7': [599_993, 600_000],
    'bytes=-9999999': [0, 600_000],
    'bytes=599998-9999999': [599_998, 600_000],
  }
  for (const [range, [start, end]] of Object.entries(ranges)) {
    const { response, bytes: got } = await get({ range })
    t.equal(response.status, 206, range)
    t.equal(response.headers.get('content-range'), `bytes ${start}-${end - 1}/600000`)
    t.ok(got.equals(bytes.subarray(start, end)), range)
  }
  for (const range of ['bytes=600000-', 'bytes=-0']) {
    const { response } = await get({ range })
    t.equal(response.status, 416, range)
    t.equal(response.headers.get('content-range'), 'bytes */600000')
  }
  for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'items=0-1', 'bytes=-', 'bytes=a-b']) {
    const { response, bytes: got } = await get({ range })
    t.equal(response.status, 200, range)
    t.equal(got.length, 600_000)
  }
  const tag = `"${record.hash}"`
  t.equal((await get({ 'if-none-match': `"a", ${tag}` })).response.status, 304)
  t.equal((await get({ 'if-none-match': '"a"' })).response.status, 200)
  t.equal((await get({ range: 'bytes=0-0', 'if-range': tag })).response.status, 206)
  t.equal((await get({ range: 'bytes=0-0', 'if-range': '"a"' })).response.status, 200)
  const head = await get({ range: 'bytes=0-0' }, 'HEAD')
  t.equal(head.response.status, 200)
  t.equal(head.response.headers.get('content-length'), '600000')
  const empty = await upload(app, '', 'empty')
  t.match(await app.request(`/files/${empty.record._id}/content`, { headers: ADA }), {
    ...{ status: 200, text: '', headers: { 'content-length': '0' } },
  })
})

t.test('a download whose bytes are missing is an error, never a short file', async (t) => {
  const app = await start(t)
  const { record } = await upload(app, Buffer.alloc(600_000), 'a')
  const path = `/files/${record._id}/content`
  await db.collection('files.chunks').deleteOne({ n: 1 })
  await t.rejects(
    fetch(app.url + path, { headers: ADA }).then((response) => response.arrayBuffer()),
  )
  await db.collection('files.files').deleteMany({})
  t.match(await app.request(path, { headers: ADA }), { status: 500 })
})

t.test('a hook of get may answer in place of the content', async (t) => {
  const away = ({ http }: HookContext) => {
    http.location = 'https://example.org/a'
  }
  const app = await start(t, {}, { hooks: { files: { after: { get: [away] } } } })
  const { record } = await upload(app, 'x')
  t.match(await app.request(`/files/${record._id}/content`, { headers: ADA }), {
    ...{ status: 303, headers: { location: 'https://example.org/a' } },
  })
})

t.test('a response that a hook has chosen has no record', async (t) => {
  const gone = ({ http }: HookContext) => {
    http.status = 202
  }
  const app = await start(t, {}, { hooks: { files: { after: { get: [gone] } } } })
  const { record } = await upload(app, 'x')
  const files = app.service('files') as unknown as FileService
  for (const path of [`/files/${record._id}/content`, files.createLink(record._id)]) {
    t.match(await app.request(path, { headers: ADA }), { status: 202, text: '' })
  }
  const events = { ...ADA, accept: 'text/event-stream' }
  const { headers } = await app.request(`/files/${record._id}/content`, { headers: events })
  t.equal(headers['content-type'], undefined, 'nor is it followed')
})

t.test('a service with methods of the same names has no files', async (t) => {
  const plain = {
    takesForms: true,
    create: async (data: object) => data,
    openFile: async () => undefined,
  }
  const app = await startApp(t, { services: { plain } })
  t.match(await app.request('/plain', { data: { a: 1 } }), { status: 201, body: { a: 1 } })
})

t.test('serves files below a prefix of a host', async (t) => {
  const files = new FileService({ Model: db.collection('files'), linkSecret: SECRET })
  const app = await startApp(t, { mode: 'plugin', services: { files } })
  const { record } = await upload(app, 'x')
  t.match(await app.request(`/files/${record._id}/content`), { status: 200, text: 'x' })
  t.match(await app.request(files.createLink(record._id)), { status: 200, text: 'x' })
})

t.test('a storage may send callers to its own URL, once hooks have let them pass', async (t) => {
  const link = async (id: string, file: { name: string }, disposition: string) =>
    `https://files.example/${id}?${new URLSearchParams({ name: file.name, disposition })}`
  const app = await start(t, { storage: { ...gridFSStorage(db, { bucketName: 'files' }), link } })
  const { record } = await upload(app, 'x')
  const path = `/files/${record._id}/content`
  t.match(await app.request(path, { headers: EVE }), { status: 404 })
  const query = 'name=a.txt&disposition=inline%3B+filename%3D%22a.txt%22'
  const location = `https://files.example/${record._id}?${query}`
  const headers = { location, 'cache-control': 'no-store' }
  t.match(await app.request(path, { headers: ADA }), { status: 302, headers })
})
