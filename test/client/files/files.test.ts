import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import t from 'tap'
import { FileService } from '../../../src/adapter/files/index.ts'
import { AuthenticationService, authenticate, JwtStrategy } from '../../../src/auth/index.ts'
import { download, files, upload } from '../../../src/client/files/index.ts'
import { sendFile } from '../../../src/client/files/sent-file.ts'
import { authentication, createClient } from '../../../src/client/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { startApp } from '../../support/test-app.ts'

const { db } = await openDatabase(t)

const SECRET = 'a secret of more than thirty-two bytes'

interface Stored {
  readonly _id: string
  readonly name: string
}

type Services = { 'desks/:desk/files': { find(): Promise<Stored[]> } }

/** Starts a server whose files need a token, and a client that has one. */
async function start(t: Test, hooks: object = {}) {
  const settings = { secret: SECRET, entity: null, authStrategies: ['jwt'] }
  const service = new FileService({ Model: db.collection('files'), maxBytes: 1_000_000 })
  const app = await startApp(t, {
    services: { 'desks/:desk/files': service },
    plugins: [
      (given: never) => {
        const logins = new AuthenticationService(given, 'authentication', settings as never)
        logins.register('jwt', new JwtStrategy())
        ;(given as { use(path: string, service: object): void }).use('authentication', logins)
      },
    ],
    hooks: { 'desks/:desk/files': { around: { all: [authenticate('jwt')] }, ...hooks } },
  })
  const client = createClient<Services>({ baseURL: app.url, headers: { 'x-desk': 'a' } })
  client.configure(authentication()).configure(files())
  const logins = app.service('authentication') as unknown as AuthenticationService
  const accessToken = await logins.createAccessToken({})
  return { app, client, accessToken, desk: client.service('desks/:desk/files') }
}

const route = { desk: 'a b' }

t.test('sends a file with its fields and the token, and gets it back', async (t) => {
  const addDesk = ({ params, data }: HookContext) => {
    Object.assign(data as object, { from: params.headers?.['x-desk'] })
  }
  const { client, accessToken, desk } = await start(t, { before: { create: [addDesk] } })
  const file = new File(['content'], 'Größe & ü.txt', { type: 'text/plain' })
  await t.rejects(desk.upload(file, {}, { route }), { name: 'NotAuthenticated', code: 401 })
  await client.authenticate({ strategy: 'jwt', accessToken })
  const stored = await desk.upload(file, { ticket: 7, tags: ['x', 'y'] }, { route })
  const fields = { ticket: '7', tags: ['x', 'y'], from: 'a' }
  t.match(stored, { name: 'Größe & ü.txt', type: 'text/plain', size: 7, ...fields })
  const content = await desk.download(stored._id, { route })
  t.equal(await content.text(), 'content')
  t.equal(content.type, 'text/plain;charset=utf-8')
  await t.rejects(desk.download('000000000000000000000000', { route }), { name: 'NotFound' })
  const bytes = new Uint8Array([1, 2, 3])
  await t.rejects(desk.upload(bytes, {}, { route }), { message: /no name/ })
  t.match(await desk.upload(bytes, { name: 'b' }, { route }), { size: 3 })
  await t.rejects(upload({}, bytes), TypeError)
  await t.rejects(download({}, 'a'), TypeError)
})

t.test('tells how far an upload is, and rejects as the server does', async (t) => {
  const { client, accessToken, desk } = await start(t)
  await client.authenticate({ strategy: 'jwt', accessToken })
  const steps: number[] = []
  const onProgress = ({ sent, total }: { sent: number; total: number }) => {
    t.equal(total, 300_000)
    steps.push(sent)
  }
  const file = new File([new Uint8Array(300_000)], 'a')
  t.match(await desk.upload(file, {}, { route, onProgress }), { size: 300_000 })
  t.equal(steps.at(-1), 300_000)
  t.ok(steps.length > 1)
  t.strictSame(
    steps,
    steps.toSorted((a, b) => a - b),
  )
  const large = new File([new Uint8Array(1_000_001)], 'a')
  await t.rejects(desk.upload(large, {}, { route }), { name: 'PayloadTooLarge', code: 413 })
})

t.test('an aborted upload rejects with the reason, and leaves nothing', async (t) => {
  const gate = new Gate()
  const { client, accessToken, desk } = await start(t, { before: { create: [() => gate.pass()] } })
  await client.authenticate({ strategy: 'jwt', accessToken })
  const before = await db.collection('files').countDocuments()
  const controller = new AbortController()
  const file = new File([new Uint8Array(900_000)], 'a')
  const sent = desk.upload(file, {}, { route, signal: controller.signal })
  await gate.arrivals(1)
  controller.abort(new Error('enough'))
  await t.rejects(sent, { message: 'enough' })
  gate.open()
  const running = async () => db.collection('files.pending').countDocuments()
  for (let left = 1; left > 0; ) left = await running()
  t.equal(await db.collection('files').countDocuments(), before)
})

t.test('never follows a redirect with a file', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = createClient({ baseURL: `http://127.0.0.1:${port}` }).configure(files())
  const file = new File(['a'], 'a')
  await t.rejects(upload(client.service('files'), file), { message: /redirects this call/ })
})

t.test('leaves methods that a service has, and services of its own', async (t) => {
  const client = createClient({ baseURL: 'http://127.0.0.1:1', methods: { a: ['upload'] } })
  client.use('local', { get: async () => 'local' } as never)
  const before = client.service('a').upload
  client.configure(files())
  const [own, other] = [client.service('a'), client.service('b')]
  t.equal(own.upload, before)
  t.type(other.download, 'function')
  t.notOk('upload' in client.service('local'))
  await t.rejects(other.upload(new File(['a'], 'a')), { name: 'Unavailable' })
})

t.test('an upload whose signal was aborted before is not sent', async (t) => {
  let created = 0
  class Transmitter {
    constructor() {
      created += 1
    }
  }
  Object.assign(globalThis, { XMLHttpRequest: Transmitter })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'XMLHttpRequest'))
  const signal = AbortSignal.abort(new Error('enough'))
  const request = { url: 'http://127.0.0.1:1', method: 'POST', headers: {}, signal } as never
  const sent = sendFile(new Blob(['a']), () => undefined, request)
  await t.rejects(sent, { message: 'enough' })
  t.equal(created, 0)
})
