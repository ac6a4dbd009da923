import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import t from 'tap'
import type { Application, HookContext, RestOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp, remex, rest } from '../../src/transport/index.ts'
import { Gate } from '../support/gate.ts'
import type { Mode, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import { laterTurns, until } from '../support/until.ts'

/** For what is not to be ended by a time limit: a test that waited for one would never end. */
const NEVER_MS = 2 ** 31 - 1

interface Opened {
  readonly server: FastifyInstance
  readonly logged: object[]
  /** Resolves to the body; rejects when the answer breaks off. */
  read(path: string): Promise<string>
  close(): Promise<unknown>
}

/** Opens services of an application, on a server of its own or on a host. */
async function open(
  t: TestScope,
  mode: Mode,
  services: (app: Application) => unknown,
  options: RestOptions = {},
): Promise<Opened> {
  const app = createApp()
  const logged: object[] = []
  const log = (details: object): unknown => logged.push(details)
  app.logger = { error: log, warn: log, info: log }
  const own = mode === 'standalone' ? fastifyApp(app, { closeTimeoutMs: NEVER_MS }) : null
  const server = own?.fastify ?? fastify()
  t.teardown(() => server.close())
  if (own === null) server.register(remex, { app, ...options })
  else own.configure(rest(options))
  services(app)
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const read = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ port, path, agent: false, host: '127.0.0.1' }, (response) => {
        response.toArray().then((chunks) => resolve(Buffer.concat(chunks).toString()), reject)
      }).on('error', reject)
    })
  return { server, logged, read, close: () => own?.close() ?? server.close() }
}

/** Streams that never end, each of another kind; they note when they are told to. */
function createStreams(ended: string[]): Readonly<Record<string, () => unknown>> {
  const createReadable = (name: string, chunks: string[]): Readable =>
    new Readable({
      read() {
        const chunk = chunks.shift()
        if (chunk !== undefined) this.push(chunk)
      },
      destroy(_error, done) {
        ended.push(name)
        done(null)
      },
    })
  const createWebStream = (name: string): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from('first')),
      cancel: () => void ended.push(name),
    })
  return {
    silent: () => createReadable('silent', []),
    readable: () => createReadable('readable', ['first']),
    web: () => createWebStream('web'),
    response: () => new Response(createWebStream('response')),
  }
}

for (const mode of MODES) {
  t.test(`100 endless streams end when the server closes, ${mode} (SHUT-4)`, async (t) => {
    const ended: string[] = []
    const streams = createStreams(ended)
    const kinds = Object.keys(streams)
    const gate = new Gate()
    const { read, close, logged } = await open(t, mode, (app) =>
      app.use('streams', { get: async (kind: string) => gate.pass(streams[kind]?.()) }),
    )
    gate.open()
    const asked = Array.from({ length: 100 }, (_none, index) => kinds[index % 4] ?? '')
    const answers = Promise.allSettled(asked.map((kind) => read(`/streams/${kind}`)))
    await gate.arrivals(100)
    await laterTurns()
    await close()
    t.strictSame(
      (await answers).filter(({ status }) => status === 'fulfilled'),
      [],
      'nobody takes an answer that was cut off for a whole one',
    )
    t.strictSame(ended.sort(), asked.sort(), 'each source was told')
    t.strictSame(logged, [])
  })

  t.test(`a stream of a known length is sent to its end, ${mode} (SHUT-4)`, async (t) => {
    const chunks = new Gate()
    const createSource = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from('first, ')
      await chunks.pass()
      yield Buffer.from('last')
    }
    const headers = { 'content-length': '11' }
    const find = async () => Readable.from(createSource())
    const get = async () =>
      new Response(Readable.toWeb(await find()) as ReadableStream, { headers })
    const { server, read, close } = await open(t, mode, (app) => {
      app.use('streams', { find, get })
      const setLength = (context: HookContext): void => {
        context.http = { headers }
      }
      app.service('streams').hooks({ after: { find: [setLength] } })
    })
    const answers = Promise.all([read('/streams'), read('/streams/1')])
    await chunks.arrivals(2)
    const closed = close()
    await until(() => !server.server.listening)
    chunks.open()
    t.strictSame(await answers, ['first, last', 'first, last'])
    await closed
  })

  t.test(`a stream that begins while the server closes ends too, ${mode} (SHUT-4)`, async (t) => {
    const ended: string[] = []
    const { readable } = createStreams(ended)
    const gate = new Gate()
    const { server, read, close } = await open(t, mode, (app) =>
      app.use('streams', { find: async () => gate.pass().then(readable) }),
    )
    const answer = read('/streams').catch((error: Error) => error)
    await gate.arrivals(1)
    const closed = close()
    await until(() => !server.server.listening)
    gate.open()
    t.match(await answer, { name: 'Error' })
    await closed
    await until(() => ended.includes('readable'))
  })
}

t.test('so are streams that functions after a service and formatters send (SHUT-4)', async (t) => {
  const ended: string[] = []
  const streams = createStreams(ended)
  const gate = new Gate()
  const formatter: RestOptions['formatter'] = async (_request, { data }) => {
    await gate.pass()
    return typeof data === 'string' ? streams[data]?.() : data
  }
  const get = async (kind: string) => kind
  const { read, close } = await open(
    t,
    'standalone',
    (app) => {
      const { use } = app as unknown as { use: (...parts: unknown[]) => unknown }
      use('streams', { get }, (_request: unknown, reply: { data: unknown }) => {
        if (reply.data === 'silent') reply.data = streams['silent']?.()
      })
    },
    { formatter },
  )
  gate.open()
  const kinds = ['readable', 'response', 'silent', 'web']
  const answers = Promise.allSettled(kinds.map((kind) => read(`/streams/${kind}`)))
  await gate.arrivals(4)
  await laterTurns()
  await close()
  t.match(
    await answers,
    kinds.map(() => ({ status: 'rejected' })),
  )
  t.strictSame(ended.sort(), kinds)
})
