import t from 'tap'
import { createApp, Forbidden, fastifyApp, rest } from '../../../src/transport/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { askForFrames } from '../../support/event-frames.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { startLiveServer } from './live-server.ts'

const ACCEPT = { accept: 'text/event-stream' }
const NOT_ACCEPTABLE = {
  status: 406,
  body: { name: 'NotAcceptable', code: 406, className: 'not-acceptable' },
}

const find = async () => [{ id: 1 }]

t.test('without realtime() nothing is answered by a stream', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('things', { id: 'id', find } as never))
  t.match(await askForFrames(t, `${server.url}/things`), NOT_ACCEPTABLE)
})

t.test('with it, what is no list of records is not either', async (t) => {
  const server = await startLiveServer(t, (app) => {
    const service = { id: 'id', find, get: async () => ({ id: 1 }), create: async () => ({}) }
    app.use('things', service)
    app.use('one', service, { singleton: true })
    const { use } = app as unknown as { use: (...parts: unknown[]) => unknown }
    use.call(app, 'followed', { find }, (_request: unknown, reply: { data: unknown }) => {
      reply.data = []
    })
  })
  t.match(await (await server.open('/things')).next(), { event: 'snapshot', data: [{ id: 1 }] })
  for (const path of ['/things/1', '/one', '/followed']) {
    t.match(await server.refusal(path), NOT_ACCEPTABLE, path)
  }
  for (const path of ['/things/1', '/one', '/followed']) {
    const head = await server.request(path, { method: 'HEAD', headers: ACCEPT })
    t.equal(head.status, 406, `HEAD ${path}`)
  }
  t.match(await server.request('/things', { headers: ACCEPT, data: {} }), { status: 406 })
  t.equal(server.hub.size, 1)
})

t.test('a formatter makes the answer, which is no stream', async (t) => {
  const formatter = (_request: unknown, { data }: { data: unknown }) => ({ formatted: data })
  const server = await startLiveServer(t, (app) => app.use('things', { find }), {
    formatter: formatter as never,
  })
  const { status, body } = await server.request('/things', { headers: ACCEPT })
  t.strictSame({ status, body }, { status: 200, body: { formatted: [{ id: 1 }] } })
  t.equal(server.hub.size, 0)
})

t.test('what a client wants more is what it gets', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('things', { id: 'id', find } as never))
  const rows = {
    'application/json, text/event-stream;q=0.5': false,
    'text/event-stream;q=0, */*': false,
    '*/*': false,
    'text/*': false,
    'text/event-stream, application/json': false,
    'text/event-stream, application/json;q=0.9': true,
    'text/event-stream, */*;q=0.1': true,
    'Text/Event-Stream': true,
  }
  for (const [accept, isStream] of Object.entries(rows)) {
    const answer = await askForFrames(t, `${server.url}/things`, { accept })
    t.equal(!('status' in answer), isStream, accept)
  }
})

t.test('what find answers by neither page nor list has no stream', async (t) => {
  const server = await startLiveServer(t, (app) => {
    app.use('object', { find: async () => ({ a: 1 }) } as never)
    app.use('nothing', { find: async () => null } as never)
    app.use('elsewhere', { find })
    app.service('elsewhere').hooks({
      after: {
        find: [
          (context) => {
            context.http = { location: '/things' }
          },
        ],
      },
    })
  })
  for (const path of ['/object', '/nothing', '/elsewhere']) {
    t.match(await server.refusal(path), NOT_ACCEPTABLE, path)
  }
  t.equal(server.hub.size, 0)
})

t.test('options that are not known or not valid are refused', async (t) => {
  const rows: readonly [object, RegExp][] = [
    [{ heartbeat: 20 }, /realtime\(\): unknown option 'heartbeat'.*heartbeatMs/],
    [{ heartbeatMs: 0 }, /heartbeatMs/],
    [{ recheckMs: 1.5 }, /recheckMs/],
    [{ recheckMs: 0 }, /recheckMs/],
    [{ maxWaitingBytes: -1 }, /maxWaitingBytes/],
    [{ maxRecords: '10' }, /maxRecords/],
    [{ bufferEvents: -1 }, /bufferEvents/],
    [{ bufferMs: Number.NaN }, /bufferMs/],
    [{ maxStreams: null }, /maxStreams/],
  ]
  for (const [options, message] of rows) {
    t.throws(() => realtime(options), { name: 'TypeError', message }, JSON.stringify(options))
  }
})

t.test('an application has it once', async (t) => {
  const app = fastifyApp(createApp()).configure(rest()).configure(realtime())
  t.throws(() => app.configure(realtime()), { name: 'TypeError', message: /has realtime\(\)/ })
})

t.test('an event with a name that streams have for themselves is refused', async (t) => {
  for (const name of ['snapshot', 'left', 'resync', 'end', 'changed']) {
    const service = { find, events: [name] }
    const before = createApp()
    before.use('things', service)
    const message = new RegExp(`'things' has an event '${name}'`)
    t.throws(() => before.configure(realtime()), { name: 'TypeError', message }, name)
    const after = createApp().configure(realtime())
    t.throws(() => after.use('things', service), { name: 'TypeError', message }, name)
  }
})

t.test('a HEAD has the status and the headers of the stream, and opens none', async (t) => {
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('things', { id: 'id', find } as never)
      app.use('guarded', { id: 'id', find } as never)
      app.service('guarded').hooks({
        before: {
          find: [
            () => {
              throw new Forbidden('No')
            },
          ],
        },
      })
    },
    { realtime: { maxStreamsPerCaller: 1 } },
  )
  const ask = (path: string, headers = {}) =>
    server.request(path, { method: 'HEAD', headers: { ...ACCEPT, ...headers } })
  for (const accept of ['text/event-stream', 'text/event-stream, */*;q=0.1']) {
    const { status, headers, text } = await ask('/things', { accept })
    t.strictSame([status, text], [200, ''])
    t.match(headers, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    t.equal(server.hub.size, 0)
  }
  // What GET rejects, HEAD rejects as well.
  for (const [path, status] of [
    ['/guarded', 403],
    ['/things?a=1&$limit=0', 406],
    ['/nothing', 404],
  ] as const) {
    t.equal((await server.refusal(path)).status, status)
    t.equal((await ask(path)).status, status, path)
  }
  const stream = await server.open('/things')
  await stream.next()
  t.equal((await ask('/things')).status, 429, 'it counts as a stream')
})
