import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import t from 'tap'
import { directUploadSchemas, FileService } from '../../src/adapter/files/index.ts'
import { s3Storage } from '../../src/adapter/files/s3-storage.ts'
import { limitTo } from '../../src/adapter/index.ts'
import { files } from '../../src/client/files/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { createApp, Forbidden } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'
import { Gate } from '../support/gate.ts'
import { startS3 } from '../support/s3-server.ts'
import { startApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

const { db } = await openDatabase(t)

const methods = ['find', 'get', 'create', 'remove', 'createUpload']
const ADA = { 'x-user': 'ada' }
const TO_BEGIN = { 'x-service-method': 'createUpload', 'content-type': 'application/json' }

/** Takes the name of the caller from a header, in the place of a login. */
const setUser = ({ params }: HookContext): void => {
  if (params.provider !== undefined) params.user = { name: params.headers?.['x-user'] } as never
}

/** Lets users begin uploads who have a name. */
const needsUser = ({ params }: HookContext): void => {
  const { name } = (params.user ?? {}) as { name?: string }
  if (params.provider !== undefined && name === undefined) throw new Forbidden('Who are you?')
}

const limitToOwner = limitTo(({ user }) => ({ owner: (user as { name: string }).name }))

interface Begun {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly token: string
}

type Services = { files: { find(): Promise<{ _id: string }[]> } }

async function start(t: Test, { after = [] as unknown[], redirect = false } = {}) {
  for (const name of ['files', 'files.pending']) await db.collection(name).deleteMany({})
  const s3 = await startS3(t)
  const { bucket, client: config } = s3
  const service = new FileService({
    ...{
      Model: db.collection('files'),
      maxBytes: 100_000,
      forms: true,
      types: ['image/*', 'text/plain'],
    },
    storage: s3Storage({ bucket, client: config, redirect }),
  })
  const app = await startApp(t, {
    services: { files: [service, { methods }] },
    hooks: {
      files: {
        before: {
          all: [setUser, needsUser],
          ...Object.fromEntries(['find', 'get', 'create', 'remove'].map((m) => [m, limitToOwner])),
        },
        after: { create: after },
      },
    },
  })
  const client = createClient<Services>({ baseURL: app.url, headers: ADA }).configure(files())
  const call = (path: string, options: object = {}) =>
    app.request(path, { headers: ADA, ...options })
  const begin = async (data: object): Promise<Begun> => {
    const headers = { ...ADA, ...TO_BEGIN }
    return (await app.request('/files', { headers, body: JSON.stringify(data) })).body as Begun
  }
  const send = async ({ url, method, headers }: Begun, body: string): Promise<number> =>
    (await fetch(url, { method, headers, body })).status
  const finish = ({ token }: Pick<Begun, 'token'>, name = 'a.txt') =>
    call(`/files?name=${name}&$upload=${token}`, { method: 'POST' })
  return { app, s3, service, client, call, begin, send, finish }
}

const TEXT = { size: 5, type: 'text/plain' }

const countNotes = () => db.collection('files.pending').countDocuments()

t.test('a client sends a file to the storage, and gets its record', async (t) => {
  const { client, call, s3 } = await start(t)
  const steps: unknown[] = []
  const file = new File(['hello'], 'a.txt', { type: 'text/plain' })
  const onProgress = (step: object): unknown => steps.push(step)
  const record = await client
    .service('files')
    .upload(file, { ticket: '7' }, { direct: true, onProgress })
  const hash = createHash('sha256').update('hello').digest('hex')
  const facts = { name: 'a.txt', type: 'text/plain', size: 5, hash }
  t.strictSame(record, { _id: record._id, ...facts, ticket: '7', owner: 'ada' })
  t.strictSame(steps, [{ sent: 5, total: 5 }])
  t.match(await call(`/files/${record._id}/content`), { status: 200, text: 'hello' })
  t.strictSame([...s3.objects.keys()], [record._id])
  t.equal(await countNotes(), 0)
  t.match(await call(`/files/${record._id}`, { method: 'DELETE' }), { status: 200 })
  t.equal(s3.objects.size, 0)
})

t.test(
  'a client that the storage rejects gets an error, and the rest of the file service works',
  async (t) => {
    const { client, s3 } = await start(t)
    const file = new File(['hello'], 'a.txt', { type: 'text/plain' })
    s3.fail('PUT')
    const uploading = client.service('files').upload(file, {}, { direct: true })
    await t.rejects(uploading, { code: 503, message: /The server answered 503/ })
    s3.fail(null)
    const aborted = { direct: true, signal: AbortSignal.abort(new Error('stopped')) }
    await t.rejects(client.service('files').upload(file, {}, aborted), { message: 'stopped' })
    t.match(await client.service('files').upload(file, {}, { direct: true }), { size: 5 })
  },
)

t.test('FILE-13: hooks decide who begins an upload and who creates its file', async (t) => {
  const { app, begin, send, finish } = await start(t)
  const body = JSON.stringify(TEXT)
  t.match(await app.request('/files', { headers: TO_BEGIN, body }), { status: 403 })
  const upload = await begin(TEXT)
  t.equal(await send(upload, 'hello'), 200)
  const path = `/files?name=a.txt&$upload=${upload.token}`
  t.match(await app.request(path, { method: 'POST' }), { status: 403 })
  t.match(await finish(upload), { status: 201, body: { owner: 'ada' } })
})

t.test('FILE-13: a token creates one file, in whatever order two requests come', async (t) => {
  const { begin, send, finish, s3 } = await start(t)
  const upload = await begin(TEXT)
  await send(upload, 'hello')
  const answers = await Promise.all([finish(upload), finish(upload), finish(upload, 'b.txt')])
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 400, 400])
  t.match(await finish(upload), { status: 400, body: { message: /unknown, or was used/ } })
  for (const token of ['', 'a', `${'0'.repeat(24)}.x`, upload.token.slice(0, -1), '$ne']) {
    t.match(await finish({ token }), { status: 400 }, token)
  }
  t.match(await finish({ token: 'x&$upload=y' }), { status: 400 }, 'a list')
  t.equal(s3.objects.size, 1)
  t.equal(await db.collection('files').countDocuments(), 1)
})

t.test('FILE-13: the content decides, whatever was declared', async (t) => {
  const { begin, send, call, finish, s3 } = await start(t)
  const page = await begin({ size: 6, type: 'image/png' })
  await send(page, '<html>')
  t.match(await finish(page), { status: 415, body: { message: /text\/html are not accepted/ } })
  const unsent = await begin(TEXT)
  t.match(await finish(unsent), { status: 400, body: { message: /were not sent/ } })
  await send(unsent, 'hello')
  t.match(await finish(unsent), { status: 201 }, 'the token stays valid')
  await call(`/files/${[...s3.objects.keys()]}`, { method: 'DELETE' })
  const larger = await begin(TEXT)
  await send(larger, 'hello')
  // A storage that does not check what it has signed.
  const put = (bytes: Buffer): void => {
    for (const key of s3.objects.keys()) s3.objects.set(key, { headers: {}, bytes })
  }
  put(Buffer.from('hello world'))
  t.match(await finish(larger), { status: 400, body: { message: /11 bytes, but 5 were declared/ } })
  const huge = await begin(TEXT)
  await send(huge, 'hello')
  put(Buffer.alloc(200_000, 'a'))
  t.match(await finish(huge), { status: 413 })
  t.equal(s3.objects.size, 0, 'nothing is left')
  t.equal(await countNotes(), 0)
})

t.test('rejects what is no upload', async (t) => {
  const { begin, send, call } = await start(t)
  const invalid = { code: 400, message: /^The '(?:size|type)' of an upload is/ }
  const values = [{}, { size: 0 }, { size: -1 }, { size: 1.5 }, { size: '5' }, { size: NaN }]
  for (const data of [...values, { size: 5, type: 'a b' }, { size: 5, type: 'a/b\r\nx: y' }, []]) {
    t.match(await begin(data), invalid, JSON.stringify(data))
  }
  t.match(await begin({ size: 100_001 }), { code: 413 })
  t.equal(await countNotes(), 0)
  const upload = await begin(TEXT)
  await send(upload, 'hello')
  const path = `/files?name=a&$upload=${upload.token}`
  t.match(await call(path, { body: 'hello' }), { status: 400, body: { message: /has no body/ } })
  t.match(await call(`/files?$upload=${upload.token}`, { method: 'POST' }), { status: 400 })
  const form = { ...ADA, 'content-type': 'multipart/form-data; boundary=b' }
  const parts =
    '--b\r\ncontent-disposition: form-data; name="f"; filename="a"\r\n\r\nhello\r\n--b--'
  t.match(await call(path, { headers: form, body: parts }), { status: 400 })
  t.match(await call(path, { method: 'POST' }), { status: 201 }, 'the token was not used')
})

t.test('FILE-13: what a later hook rejects leaves nothing', async (t) => {
  const reject = (): void => {
    throw new Forbidden('Not today')
  }
  const { begin, send, finish, s3 } = await start(t, { after: [reject] })
  const upload = await begin(TEXT)
  await send(upload, 'hello')
  t.match(await finish(upload), { status: 403 })
  t.strictSame([s3.objects.size, await countNotes()], [0, 0])
  t.equal(await db.collection('files').countDocuments(), 0)
})

t.test('FILE-13: the sweep removes what no file was created from', async (t) => {
  const { begin, send, finish, service, s3 } = await start(t)
  const [left, unsent, kept] = [await begin(TEXT), await begin(TEXT), await begin(TEXT)]
  await send(left, 'hello')
  await send(kept, 'hello')
  const { body } = await finish(kept)
  t.equal(await service.sweep({ minAgeMs: 60_000 }), 0)
  t.equal(await service.sweep({ minAgeMs: 0 }), 2)
  t.strictSame([...s3.objects.keys()], [(body as { _id: string })._id])
  t.match(await finish(left), { status: 400 })
  t.match(await finish(unsent), { status: 400 })
})

t.test('downloads are redirected to the storage, except for HEAD and active content', async (t) => {
  const { client, app, call } = await start(t, { redirect: true })
  const file = new File(['hello'], 'a.txt', { type: 'text/plain' })
  const { _id } = await client.service('files').upload(file)
  const { status, headers } = await call(`/files/${_id}/content`)
  t.equal(status, 302)
  const response = await fetch(String(headers['location']))
  t.equal(await response.text(), 'hello')
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.match(await call(`/files/${_id}/content`, { method: 'HEAD' }), { status: 200 })
  t.match(await app.request(`/files/${_id}/content`), { status: 403 })
})

t.test('a service with schemas has those of direct uploads', async (t) => {
  const { bucket, client } = await startS3(t)
  const service = new FileService({
    Model: db.collection('files'),
    storage: s3Storage({ bucket, client }),
  })
  const [string, integer] = [{ type: 'string' }, { type: 'integer' }]
  const facts = { name: string, type: string, size: integer, hash: string }
  const schemas = {
    entity: { type: 'object', properties: { _id: string, ...facts, ticket: integer } },
    create: { type: 'object', properties: { name: string, ticket: integer } },
    methods: { createUpload: directUploadSchemas },
  }
  const options = { schemas, methods: ['create', 'createUpload'] }
  const app = await startApp(t, { services: { files: [service, options] } })
  const begin = (data: object) =>
    app.request('/files', { headers: TO_BEGIN, body: JSON.stringify(data) })
  for (const data of [{ size: 0 }, { size: 5, owner: 'eve' }, { type: 'a/b' }]) {
    t.match(await begin(data), { status: 400, body: { message: 'validation failed' } })
  }
  const { url, method, headers, token } = (await begin(TEXT)).body as Begun
  t.equal((await fetch(url, { method, headers, body: 'hello' })).status, 200)
  const created = await app.request(`/files?name=a&ticket=7&$upload=${token}`, { method: 'POST' })
  t.match(created, { status: 201, body: { size: 5, ticket: 7 } })
})

t.test('a storage without direct uploads keeps an application from offering them', async (t) => {
  const service = new FileService({ Model: db.collection('files') })
  const error = new TypeError('createUpload(): clients cannot send files to this storage')
  await t.rejects(service.createUpload(TEXT), error)
  const app = createApp().use('files', service, { methods: ['createUpload'] })
  await t.rejects(app.setup(), error)
})

t.test('FILE-13: a sweep leaves a file alone whose token was used in the meantime', async (t) => {
  const { begin, send, finish, service, s3 } = await start(t)
  const [first, second] = [await begin(TEXT), await begin(TEXT)]
  for (const upload of [first, second]) await send(upload, 'hello')
  const gate = new Gate()
  s3.hold('DELETE', gate)
  const sweeping = service.sweep({ minAgeMs: 0 })
  await gate.arrivals(1)
  const finishing = finish(second)
  await until(
    async () =>
      (await db.collection('files.pending').countDocuments({ token: { $exists: true } })) === 0,
  )
  gate.open()
  const { status, body } = await finishing
  t.equal(status, 201)
  t.equal(await sweeping, 1)
  t.strictSame([...s3.objects.keys()], [(body as { _id: string })._id])
})

t.test('a failure of the storage does not use a token up', async (t) => {
  const { begin, send, finish, s3 } = await start(t)
  const upload = await begin(TEXT)
  await send(upload, 'hello')
  s3.fail('PUT')
  t.match(await finish(upload), { status: 500, body: { message: 'Internal error' } })
  s3.fail(null)
  t.match(await finish(upload), { status: 201 })
})

t.test(
  'the type of a file may have parameters, and an empty file has no direct upload',
  async (t) => {
    const { client } = await start(t)
    const options = { direct: true }
    const text = new File(['hello'], 'a.txt', { type: 'Text/Plain;charset=utf-8' })
    t.match(await client.service('files').upload(text, {}, options), {
      type: 'text/plain',
      size: 5,
    })
    const empty = new File([], 'b.txt', { type: 'text/plain' })
    t.match(await client.service('files').upload(empty, {}, options), { size: 0 })
  },
)

t.test('a download sends the headers of a client to the application alone', async (t) => {
  const { client, s3 } = await start(t, { redirect: true })
  const file = new File(['hello'], 'a.txt', { type: 'text/plain' })
  const { _id } = await client.service('files').upload(file, {}, { direct: true })
  t.equal(await (await client.service('files').download(_id)).text(), 'hello')
  t.strictSame(s3.requests.at(-1), `GET /bucket/${_id}`)
  t.notOk(s3.headers.some((names) => names.includes('x-user')))
})
