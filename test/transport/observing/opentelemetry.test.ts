import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import t from 'tap'
import { FollowedFind } from '../../../src/transport/finds/followed-find.ts'
import { createApp, NotFound, Unavailable } from '../../../src/transport/index.ts'
import { opentelemetry } from '../../../src/transport/observing/opentelemetry.ts'
import { startOwnServer } from '../../support/own-server.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
})
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

t.beforeEach(() => exporter.reset())

const notes = {
  find: async () => [],
  get: async (id: string) => {
    if (id === 'none') throw new NotFound('No note 7')
    if (id === 'broken') throw new Error('secret text')
    return { id, text: 'secret' }
  },
}

t.test('each call has a span below what is active, and what it calls below that', async (t) => {
  const app = createApp().configure(opentelemetry({ tracerProvider }))
  app.use('notes', notes as never)
  app.use('outer', { get: (id: string) => app.service('notes').get(id) } as never)
  const tracer = tracerProvider.getTracer('test')
  await tracer.startActiveSpan('request', async (span) => {
    await app.service('outer').get('7')
    span.end()
  })
  const [inner, outer, request] = exporter.getFinishedSpans()
  t.strictSame([inner?.name, outer?.name, request?.name], ['notes/get', 'outer/get', 'request'])
  t.equal(inner?.parentSpanContext?.spanId, outer?.spanContext().spanId)
  t.equal(outer?.parentSpanContext?.spanId, request?.spanContext().spanId)
  t.strictSame(outer?.attributes, { 'rpc.system.name': 'remex', 'rpc.method': 'outer/get' })
})

t.test('errors of callers have a status code, those of servers fail; none has data', async (t) => {
  const app = createApp().configure(opentelemetry({ tracerProvider }))
  app.use('notes', notes as never)
  await t.rejects(app.service('notes').get('none'))
  await t.rejects(app.service('notes').get('broken'))
  const [missing, broken] = exporter.getFinishedSpans()
  t.match(missing, { attributes: { 'rpc.status_code': 'NotFound' } })
  t.notOk('error.type' in (missing?.attributes ?? {}))
  t.strictSame(missing?.status, { code: SpanStatusCode.UNSET })
  t.match(broken, {
    attributes: { 'rpc.status_code': 'GeneralError', 'error.type': 'GeneralError' },
  })
  t.strictSame(broken?.status, { code: SpanStatusCode.ERROR })
  for (const span of [missing, broken]) {
    t.notMatch(JSON.stringify([span?.attributes, span?.events, span?.status]), /secret|note 7/)
  }
})

t.test('a span has the name of the class of an error, and not one that it was given', async (t) => {
  const app = createApp().configure(opentelemetry({ tracerProvider }))
  const get = async (name: string) => {
    throw Object.assign(name === 'a' ? new NotFound('none') : new Unavailable('none'), { name })
  }
  app.use('notes', { get } as never)
  for (const name of ['a', 'b']) await t.rejects(app.service('notes').get(name))
  const [missing, failed] = exporter.getFinishedSpans()
  t.match(missing?.attributes, { 'rpc.status_code': 'NotFound' })
  t.match(failed?.attributes, { 'rpc.status_code': 'Unavailable', 'error.type': 'Unavailable' })
})

t.test('a call from outside says so, with the id of its request', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.configure(opentelemetry({ tracerProvider }))
    app.use('notes', notes as never)
  })
  t.equal((await server.request('/notes/7')).status, 200)
  const [span] = exporter.getFinishedSpans()
  t.match(span?.attributes, { 'remex.provider': 'rest', 'remex.request_id': String })
})

t.test('streams of records share what they are told all the same', async (t) => {
  const app = createApp().configure(opentelemetry({ tracerProvider }))
  app.use('notes', notes as never)
  const method = app.entries.get('notes')?.methods.get('find')
  t.equal(method && new FollowedFind(method as never).shapes, false)
})

t.test('the provider of the process is the default, and other options are refused', async (t) => {
  trace.setGlobalTracerProvider(tracerProvider)
  t.teardown(() => trace.disable())
  const app = createApp().configure(opentelemetry())
  app.use('notes', notes as never)
  await app.service('notes').get('7')
  t.equal(exporter.getFinishedSpans().length, 1)
  t.throws(() => opentelemetry({ tracer: 1 } as never), /unknown option 'tracer'/)
  t.throws(() => opentelemetry({ tracerProvider: {} } as never), /must be a TracerProvider/)
})
