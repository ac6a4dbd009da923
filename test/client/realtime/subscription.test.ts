import axios from 'axios'
import superagent from 'superagent'
import t from 'tap'
import { createClient, rest } from '../../../src/client/index.ts'
import { live, realtime, subscribe } from '../../../src/client/realtime/index.ts'
import {
  BadRequest,
  createApp,
  Forbidden,
  MethodNotAllowed,
  NotAcceptable,
  NotAuthenticated,
  NotFound,
} from '../../../src/core/index.ts'
import type { ServedStream } from '../../support/event-server.ts'
import { startEventServer } from '../../support/event-server.ts'
import { laterTurns, until } from '../../support/until.ts'
import { errorOf } from '../error-of.ts'
import { connect, take } from './live-client.ts'

t.test('a loop gets the snapshot, then what is written', async (t) => {
  const server = await startEventServer(t)
  const events = connect(t, server.url)
    .service('tasks')
    .subscribe({ query: { team: 7, $sort: { due: 1 } } })
  const taking = take(events, 6)
  const stream = await server.stream(0)
  t.equal(stream.url, '/tasks?team=7&%24sort%5Bdue%5D=1')
  stream.open([{ id: 1 }])
  const told = [
    { type: 'created', data: { id: 2 } },
    { type: 'patched', data: { id: 1, done: true } },
    { type: 'left', data: { id: 1 } },
    { type: 'removed', data: { id: 2 } },
    { type: 'reminded', data: 'of a name that the service has made' },
  ]
  for (const { type, data } of told) stream.send(type, data)
  t.strictSame(await taking, [{ type: 'snapshot', data: [{ id: 1 }] }, ...told])
})

t.test('connects when the loop begins, and not before', async (t) => {
  const server = await startEventServer(t)
  connect(t, server.url).service('tasks').subscribe()
  await laterTurns()
  t.equal(server.streams.length, 0)
})

t.test('a loop that is left closes the connection', async (t) => {
  const server = await startEventServer(t)
  const opened = server.stream(0).then((stream) => stream.open([]))
  for await (const { type } of connect(t, server.url).service('tasks').subscribe()) {
    t.equal(type, 'snapshot')
    break
  }
  const stream = await opened
  await until(() => stream.isClosed)
  t.equal(server.streams.length, 1)
})

t.test('what waits for an event ends with the subscription', async (t) => {
  const server = await startEventServer(t)
  const events = connect(t, server.url).service('tasks').subscribe()
  const waiting = [events.next(), events.next()]
  const stream = await server.stream(0)
  t.strictSame(await events.return?.(), { done: true, value: undefined })
  for (const one of waiting) t.strictSame(await one, { done: true, value: undefined })
  await until(() => stream.isClosed)
})

t.test('a signal ends a loop', async (t) => {
  const server = await startEventServer(t)
  const tasks = connect(t, server.url).service('tasks')
  const given = [
    (signal: AbortSignal) => ({ signal }),
    (signal: AbortSignal) => ({ connection: { signal } }),
  ]
  for (const [index, toParams] of given.entries()) {
    const controller = new AbortController()
    const opened = server.stream(index).then((stream) => stream.open([]))
    const types: string[] = []
    for await (const { type } of tasks.subscribe(toParams(controller.signal))) {
      types.push(type)
      controller.abort()
    }
    const stream = await opened
    await until(() => stream.isClosed)
    t.strictSame(types, ['snapshot'])
    for await (const event of tasks.subscribe(toParams(controller.signal))) t.fail(event.type)
  }
  t.equal(server.streams.length, 2)
})

const REFUSALS = {
  400: BadRequest,
  401: NotAuthenticated,
  403: Forbidden,
  404: NotFound,
  405: MethodNotAllowed,
  406: NotAcceptable,
}

for (const [status, ServerError] of Object.entries(REFUSALS)) {
  t.test(`a loop throws what the server refuses with: ${status}`, async (t) => {
    const body = { name: ServerError.name, message: `refused: ${ServerError.name}` }
    const details = { code: Number(status), data: { why: 'so' } }
    // After a 401, an ordinary call renews the login.
    const server = await startEventServer(t, (_request, response) =>
      response.writeHead(Number(status)).end(JSON.stringify({ ...body, ...details })),
    )
    const events = connect(t, server.url).service('tasks').subscribe()
    const [error, stream] = [errorOf(events.next()), await server.stream(0)]
    stream.refuse(Number(status), ServerError.name, details)
    t.ok((await error) instanceof ServerError)
    t.match(await error, { message: `refused: ${ServerError.name}`, data: { why: 'so' } })
    t.strictSame(await events.next(), { done: true, value: undefined })
    t.equal(server.streams.length, 1)
  })
}

t.test('a query that can not be sent is refused before', async (t) => {
  const server = await startEventServer(t)
  const tasks = connect(t, server.url).service('tasks')
  for (const query of [{ team: null }, 'team=7', { team: { $in: {} } }]) {
    const events = tasks.subscribe({ query } as never)
    t.ok((await errorOf(events.next())) instanceof BadRequest)
    t.equal((await events.next()).done, true)
  }
  t.ok((await errorOf(tasks.live({ query: { team: null } }))) instanceof BadRequest)
  t.equal(server.streams.length, 0)
})

t.test('sends the headers of the client and of the call', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url, {}, { headers: { authorization: 'Bearer a', 'x-a': '1' } })
  const events = client.service('tasks').subscribe({ headers: { 'x-a': '2' } })
  void events.next()
  const { headers } = await server.stream(0)
  t.match(headers, { authorization: 'Bearer a', 'x-a': '2', accept: 'text/event-stream' })
  await events.return?.()
})

t.test('fills the placeholders of a path', async (t) => {
  const server = await startEventServer(t)
  const comments = connect(t, server.url).service('posts/:postId/comments')
  const all = ['a', 7n].map((postId) => comments.subscribe({ route: { postId } } as never))
  for (const events of all) void events.next()
  await server.stream(1)
  t.strictSame(server.streams.map(({ url }) => url).sort(), [
    '/posts/7/comments',
    '/posts/a/comments',
  ])
  for (const events of all) await events.return?.()
})

t.test('route values with commas are another connection', async (t) => {
  const server = await startEventServer(t)
  const service = connect(t, server.url).service('a/:one/:other')
  const routes = [
    { one: '1,other,2', other: '3' },
    { one: '1', other: '2,other,3' },
  ]
  const all = routes.map((route) => service.subscribe({ route } as never))
  for (const events of all) void events.next()
  await server.stream(1)
  for (const events of all) await events.return?.()
})

t.test('goes by fetch, whatever library sends the calls', async (t) => {
  const server = await startEventServer(t)
  const urls: string[] = []
  const ownFetch: typeof fetch = (url, options) => {
    urls.push(String(url))
    return fetch(url, options)
  }
  const connections = [
    rest(server.url).ofetch(),
    rest(server.url).fetch(ownFetch),
    rest(server.url).axios(axios),
    rest(server.url).superagent(superagent),
  ]
  for (const [index, connection] of connections.entries()) {
    const client = createApp().configure(connection).configure(realtime())
    const events = subscribe(client.service('tasks'))
    const [first, stream] = [events.next(), await server.stream(index)]
    stream.open([index])
    t.strictSame((await first).value, { type: 'snapshot', data: [index] })
    await events.return?.()
  }
  t.strictSame(urls, [`${server.url}/live-queries`])
})

t.test('methods of these names that a service has are its own', async (t) => {
  const server = await startEventServer(t, (request, response) =>
    response.end(JSON.stringify({ called: request.headers['x-service-method'] })),
  )
  const client = connect(t, server.url, {}, { methods: { news: ['subscribe', 'live'] } })
  const news = client.service('news')
  t.strictSame(await news['subscribe']?.({}), { called: 'subscribe' })
  t.strictSame(await news['live']?.({}), { called: 'live' })
  const [first, stream] = [subscribe(news).next(), await server.stream(0)]
  stream.open([])
  t.match(await first, { value: { type: 'snapshot' } })
})

t.test('a client without live queries says what is missing', async (t) => {
  const tasks = createClient({ baseURL: 'http://localhost' }).service('tasks')
  const message = /client\.configure\(realtime\(\)\)/
  t.throws(() => subscribe(tasks), message)
  t.match(await errorOf(live(tasks)), { name: 'TypeError', message })
})

/** Resolves to a subscription and its stream, after the snapshot. */
async function open(
  server: Awaited<ReturnType<typeof startEventServer>>,
  events: AsyncIterator<unknown>,
): Promise<ServedStream> {
  const [first, stream] = [events.next(), await server.stream(0)]
  stream.open(['first'])
  await first
  return stream
}

t.test('one query is one connection, however many listen', async (t) => {
  const finds: unknown[] = []
  const server = await startEventServer(t, ({ url }, response) => {
    finds.push(url)
    response.end('["second"]')
  })
  const tasks = connect(t, server.url).service('tasks')
  const [one, other] = [1, 1].map((team) => tasks.subscribe({ query: { team } }))
  const stream = await open(server, one as AsyncIterator<unknown>)
  t.match(await other?.next(), { value: { type: 'snapshot', data: ['second'] } })
  stream.send('created', { id: 1 })
  for (const events of [one, other]) t.match(await events?.next(), { value: { type: 'created' } })
  await one?.return?.()
  stream.send('created', { id: 2 })
  t.match(await other?.next(), { value: { data: { id: 2 } } })
  t.notOk(stream.isClosed)
  await other?.return?.()
  await until(() => stream.isClosed)
  t.strictSame(finds, ['/tasks?team=1'])
  t.equal(server.streams.length, 1)
})

t.test('another query, and other headers, are another connection', async (t) => {
  const server = await startEventServer(t)
  const tasks = connect(t, server.url).service('tasks')
  const all = [{}, { query: { team: 1 } }, { headers: { 'x-a': '1' } }, {}].map((params) =>
    tasks.subscribe(params),
  )
  for (const events of all) void events.next()
  await server.stream(2)
  await laterTurns()
  t.equal(server.streams.length, 3)
  for (const events of all) await events.return?.()
})

t.test('what is written while a later one asks for a snapshot comes after that', async (t) => {
  let answer: () => void = () => undefined
  const server = await startEventServer(t, (_request, response) => {
    answer = () => response.end('[1, 2]')
    stream?.send('created', 2)
  })
  const tasks = connect(t, server.url).service('tasks')
  const [one, other] = [tasks.subscribe(), tasks.subscribe()]
  const stream: ServedStream | undefined = await open(server, one)
  const taking = take(other, 2)
  t.match(await one.next(), { value: { type: 'created' } })
  answer()
  t.strictSame(await taking, [
    { type: 'snapshot', data: [1, 2] },
    { type: 'created', data: 2 },
  ])
})

t.test('where a later one gets no snapshot, the stream begins anew for all', async (t) => {
  const server = await startEventServer(t, (_request, response) => response.writeHead(503).end())
  const tasks = connect(t, server.url).service('tasks')
  const [one, other] = [tasks.subscribe(), tasks.subscribe()]
  const stream = await open(server, one)
  stream.send('created', 1, 'id-1')
  await one.next()
  const firsts = [one.next(), other.next()]
  const again = await server.stream(1)
  t.notOk('last-event-id' in again.headers)
  again.open(['again'])
  for (const first of firsts) {
    t.match(await first, { value: { type: 'snapshot', data: ['again'] } })
  }
})

t.test('a loop that is too slow gets a resync and a new snapshot', async (t) => {
  const server = await startEventServer(t, (_request, response) => response.end('["new"]'))
  const tasks = connect(t, server.url, { maxWaiting: 3 }).service('tasks')
  const [events, quick] = [tasks.subscribe(), tasks.subscribe()]
  const stream = await open(server, events)
  await quick.next()
  for (let id = 0; id < 10; id += 1) {
    stream.send('created', { id })
    t.match(await quick.next(), { value: { data: { id } } })
  }
  t.strictSame(await take(events, 2), [
    { type: 'resync', data: {} },
    { type: 'snapshot', data: ['new'] },
  ])
  stream.send('created', { id: 10 })
  t.match(await events.next(), { value: { type: 'created', data: { id: 10 } } })
})
