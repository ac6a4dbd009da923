import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createClient } from '../../../src/client/index.ts'
import type { LiveList } from '../../../src/client/realtime/index.ts'
import { realtime } from '../../../src/client/realtime/index.ts'
import { Forbidden, NotAcceptable } from '../../../src/core/index.ts'
import { holdTimers } from '../../support/clock.ts'
import type { EventServer, ServedStream } from '../../support/event-server.ts'
import { startEventServer } from '../../support/event-server.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { laterTurns, until } from '../../support/until.ts'
import { errorOf } from '../error-of.ts'
import { connect, take } from './live-client.ts'

/** Accepts all subscriptions of a connection; new ones get a snapshot with their URL. */
async function accept(server: EventServer, index: number): Promise<readonly ServedStream[]> {
  const streams = await server.connection(index)
  for (const stream of streams) {
    if (stream.after !== undefined) stream.open()
    else stream.open().send('snapshot', [{ id: stream.url }], `at-${stream.url}-${index}`)
  }
  return streams
}

const urls = (streams: readonly ServedStream[]): string[] => streams.map(({ url }) => url)

const ids = ({ data }: LiveList): unknown[] => data.map((one) => (one as { id: unknown }).id)

/** Opens lists of these paths by one connection. */
async function openLists(
  t: TestScope,
  paths: readonly string[],
  options: object = {},
): Promise<{ server: EventServer; lists: LiveList[]; streams: readonly ServedStream[] }> {
  const server = await startEventServer(t)
  const client = connect(t, server.url, options)
  const opening = Promise.all(paths.map((path) => client.service(path).live()))
  const streams = await accept(server, 0)
  return { server, lists: await opening, streams }
}

t.test('all that is subscribed to within one tick is one connection', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, `${server.url}/api`)
  const places = client.service('teams/:teamId/places')
  const opening = Promise.all([
    client.service('tasks').live({ query: { team: 7, $sort: { due: -1 } } }),
    Promise.resolve().then(() => client.service('users').live()),
    places.live({ route: { teamId: 'a b' } } as never),
    client.service('/').live({ query: { a: 1 } }),
  ])
  const streams = await accept(server, 0)
  t.strictSame(urls(streams).sort(), [
    '/?a=1',
    '/tasks?team=7&%24sort%5Bdue%5D=-1',
    '/teams/a%20b/places',
    '/users',
  ])
  await opening
  t.equal(server.connections.length, 1)
})

t.test('a service at the root of its server has a path too', async (t) => {
  const server = await startEventServer(t)
  const opening = connect(t, server.url)
    .service('/')
    .live({ query: { a: 1 } })
  t.strictSame(urls(await accept(server, 0)), ['/?a=1'])
  await opening
})

t.test('a change is another connection, with the positions of all', async (t) => {
  const { server, lists, streams } = await openLists(t, ['a', 'b'])
  streams[0]?.send('created', { id: 1 }, 'at-1')
  await until(() => lists[0]?.data.length === 2)
  const statuses: string[] = []
  for (const list of lists) list.on('change', ({ status }) => statuses.push(status))
  lists[1]?.close()
  const [again] = await server.connection(1)
  t.match(again, { url: '/a', after: 'at-1' })
  await until(() => streams.every(({ isClosed }) => isClosed))
  // What the server has sent to the connection that was left is sent again.
  again?.open().send('created', { id: 2 }, 'at-2')
  await until(() => lists[0]?.data.length === 3)
  t.strictSame(ids(lists[0] as LiveList), ['/a', 1, 2])
  t.equal(lists[0]?.status, 'open')
  t.strictSame(statuses, ['closed', 'open'])
})

t.test('one that goes and one that comes are one change', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const opening = Promise.all(['a', 'b'].map((path) => client.service(path).live()))
  await accept(server, 0)
  const [a] = await opening
  a?.close()
  const next = client.service('c').live()
  const streams = await accept(server, 1)
  t.match(streams, [
    { url: '/b', after: 'at-/b-0' },
    { url: '/c', after: undefined },
  ])
  await next
  t.equal(server.connections.length, 2)
})

t.test('nothing of the connection before is read after a change', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const heard: unknown[] = []
  const opening = client.service('b').live()
  client.service('a').on('created', (record) => {
    const { id } = record as { id: unknown }
    heard.push(id)
    list.close()
  })
  const [, a] = await accept(server, 0)
  const list = await opening
  const frames = [1, 2].map((id) => `id: ${id}\nevent: 2/created\ndata: {"id":${id}}\n\n`)
  a?.write(frames.join(''))
  const [again] = await server.connection(1)
  t.strictSame([again?.after, heard], ['1', [1]])
  again?.open().send('created', { id: 2 }, '2')
  await until(() => heard.length === 2)
})

t.test('a change waits for the answers to the one before', async (t) => {
  const waiting = holdTimers(t, 1_000)
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const a = client.service('a').live()
  const [first] = await server.connection(0)
  const b = client.service('b').live()
  await until(() => waiting.size === 1)
  // A new subscription is answered by its snapshot.
  first?.open()
  await laterTurns()
  t.equal(server.connections.length, 1)
  first?.send('snapshot', [], 'at-a')
  t.match(await accept(server, 1), [{ url: '/a', after: 'at-a' }, { url: '/b' }])
  await Promise.all([a, b])
  t.equal(waiting.size, 0)
})

t.test('it waits for a second at most, and asks again for what is late', async (t) => {
  const waiting = holdTimers(t, 1_000)
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const a = client.service('a').live()
  const [late] = await server.connection(0)
  const b = client.service('b').live()
  await until(() => waiting.size === 1)
  waiting.fire()
  t.match(await accept(server, 1), [{ url: '/a', after: undefined }, { url: '/b' }])
  await Promise.all([a, b])
  await until(() => late?.isClosed)
})

t.test('a query that needs a snapshot takes no event of the connection before', async (t) => {
  const gate = new Gate()
  t.teardown(() => gate.open())
  const server = await startEventServer(t, async (_request, response) => {
    await gate.pass()
    response.writeHead(503).end()
  })
  const tasks = connect(t, server.url).service('tasks')
  const opening = tasks.live({ query: { $sort: { rank: 1 } } })
  const [first] = await accept(server, 0)
  const list = await opening
  // Its order is unknown: the list asks by a call, which fails.
  first?.send('created', { id: 1 })
  await gate.arrivals(1)
  first?.destroy()
  const [second] = await server.connection(1)
  gate.open()
  const [third] = await server.connection(2)
  t.match([second?.after, third?.after], ['at-/tasks?%24sort%5Brank%5D=1-0', undefined])
  second?.open().send('created', { id: 2 }, 'late')
  third?.open([{ id: 3 }])
  await until(() => ids(list)[0] === 3)
})

t.test('the last one that goes leaves no connection', async (t) => {
  const { server, lists, streams } = await openLists(t, ['a', 'b'])
  for (const list of lists) list.close()
  await until(() => streams.every(({ isClosed }) => isClosed))
  await laterTurns()
  t.equal(server.connections.length, 1)
})

t.test('other headers, options and servers are another connection', async (t) => {
  const [server, other] = [await startEventServer(t), await startEventServer(t)]
  const client = connect(t, server.url)
  const params = [
    {},
    { headers: { 'x-a': '1' } },
    { headers: { 'X-A': '1' } },
    { connection: { headers: { 'x-a': '1' } } },
    { connection: { credentials: 'omit' } },
  ]
  const opening = [
    ...params.map((one) => client.service('a').live(one)),
    client.service('b').live(),
    connect(t, other.url).service('a').live(),
  ]
  for (const index of [0, 1, 2]) await accept(server, index)
  await accept(other, 0)
  await Promise.all(opening)
  t.strictSame(server.connections.map((streams) => urls(streams).length).sort(), [1, 1, 2])
})

t.test('more than a server takes are several connections', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const paths = Array.from({ length: 101 }, (_value, index) => `a${index}`)
  const opening = Promise.all(paths.map((path) => client.service(path).live()))
  for (const index of [0, 1]) await accept(server, index)
  const lists = await opening
  t.strictSame(server.connections.map(({ length }) => length).sort(), [1, 100])
  for (const list of lists) list.close()
})

t.test('a rejected query ends alone', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const refused = errorOf(client.service('a').live())
  const opening = client.service('b').live()
  const [a, b] = await server.connection(0)
  a?.refuse(403, 'Forbidden', { data: { why: 'so' } })
  b?.open([])
  t.ok((await refused) instanceof Forbidden)
  t.match(await refused, { data: { why: 'so' } })
  const list = await opening
  t.equal(list.status, 'open')
  // The server needs no word of what it has ended itself, but the next change leaves it out.
  const [again] = await server.connection(1)
  again?.open().send('created', { id: 1 })
  await until(() => list.data.length === 1)
})

for (const status of [429, 503]) {
  t.test(`a query that is rejected for a while is asked for again: ${status}`, async (t) => {
    const timers = holdTimers(t, 7_000)
    const { server, lists, streams } = await openLists(t, ['a', 'b'])
    const [a, b] = lists as [LiveList, LiveList]
    const [first, second] = streams
    first?.refuse(status, 'Unavailable', {}, 7)
    await until(() => a.status === 'waiting')
    t.match(a.error, { code: status, response: { headers: { 'retry-after': '7' } } })
    second?.send('created', { id: 1 }, 'at-b')
    await until(() => b.data.length === 2)
    t.strictSame([b.status, server.connections.length], ['open', 1])
    timers.fire()
    const [again, other] = await accept(server, 1)
    t.match([again, other], [{ url: '/a', after: 'at-/a-0' }, { after: 'at-b' }])
    await until(() => a.status === 'open')
    t.equal(a.error, undefined)
  })
}

t.test('a rejected connection ends only its new queries', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const opening = client.service('a').live()
  await accept(server, 0)
  const a = await opening
  const refused = errorOf(client.service('b').live())
  ;(await server.connection(1))[0]?.answer(400, { name: 'BadRequest', code: 400, message: 'no' })
  t.match(await refused, { name: 'BadRequest', message: 'no' })
  const [again] = await server.connection(2)
  again?.open().send('created', { id: 1 })
  await until(() => a.data.length === 2)
  t.match(again, { url: '/a', after: 'at-/a-0' })
})

t.test('a server without live queries is said to be one', async (t) => {
  const server = await startEventServer(t)
  const refused = errorOf(connect(t, server.url).service('a').live())
  ;(await server.connection(0))[0]?.answer(404, { name: 'NotFound', code: 404 })
  t.ok((await refused) instanceof NotAcceptable)
  t.match((await refused).message, /answered 404 .* it has no live queries/)
})

t.test('the path is that of the server', async (t) => {
  const server = await startEventServer(t)
  const asked: string[] = []
  const client = createClient({ baseURL: server.url, connection: { onRequest: note } })
  function note({ request }: { request: unknown }): void {
    asked.push(String(request))
  }
  client.configure(realtime({ path: '/all/events' }))
  const opening = client.service('a').live()
  await accept(server, 0)
  ;(await opening).close()
  t.strictSame(asked, [`${server.url}/all/events`])
})

t.test('lists that are closed leave nothing in memory beside one that stays', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const server = await startEventServer(t)
  const tasks = connect(t, server.url).service('tasks')
  const { signal } = new AbortController()
  const staying = tasks.live({ signal })
  await accept(server, 0)
  const list = await staying
  const left: WeakRef<object>[] = []
  const openAndClose = async (index: number): Promise<void> => {
    const opening = tasks.live({ query: { index }, signal })
    await accept(server, 2 * index + 1)
    const one = await opening
    one.on('change', () => left.length)
    left.push(new WeakRef(one))
    one.close()
    await accept(server, 2 * index + 2)
  }
  for (let index = 0; index < 100; index += 1) await openAndClose(index)
  await until(async () => {
    collectGarbage()
    return left.every((one) => one.deref() === undefined)
  })
  t.equal(list.status, 'open')
})

/** Puts a document in the place of the one that browsers have, until the end of the test. */
function openDocument(t: Pick<TestScope, 'teardown'>): {
  readonly listeners: Set<unknown>
  show(state: 'hidden' | 'visible'): void
} {
  const listeners = new Set<() => void>()
  const document = {
    visibilityState: 'visible',
    addEventListener: (_name: string, listener: () => void) => void listeners.add(listener),
    removeEventListener: (_name: string, listener: () => void) => void listeners.delete(listener),
  }
  Object.defineProperty(globalThis, 'document', { value: document, configurable: true })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'document'))
  return {
    listeners,
    show(state) {
      document.visibilityState = state
      for (const listener of [...listeners]) listener()
    },
  }
}

t.test('a page that is hidden for long gives its connection up, and goes on later', async (t) => {
  const page = openDocument(t)
  const timers = holdTimers(t, 60_000)
  const { server, lists, streams } = await openLists(t, ['a', 'b'])
  const [a] = lists as [LiveList]
  page.show('hidden')
  t.equal(timers.size, 1)
  page.show('visible')
  t.strictSame([timers.size, a.status], [0, 'open'])
  page.show('hidden')
  timers.fire()
  await until(() => streams.every(({ isClosed }) => isClosed))
  await until(() => lists.every(({ status }) => status === 'waiting'))
  await laterTurns()
  t.strictSame([a.error, server.connections.length], [undefined, 1])
  page.show('visible')
  const again = await accept(server, 1)
  t.match(again, [{ after: 'at-/a-0' }, { after: 'at-/b-0' }])
  again[0]?.send('created', { id: 1 })
  await until(() => a.data.length === 2)
  t.equal(a.status, 'open')
})

t.test('what is opened in a hidden page waits until it is shown', async (t) => {
  const page = openDocument(t)
  const server = await startEventServer(t)
  const timers = holdTimers(t, 1_234)
  const client = connect(t, server.url, { hiddenMs: 1_234 })
  page.show('hidden')
  const events = client.service('a').subscribe()
  const first = take(events, 1)
  await server.connection(0)
  timers.fire()
  await laterTurns()
  const other = client.service('b').subscribe()
  void other.next()
  await laterTurns()
  t.equal(server.connections.length, 1)
  page.show('visible')
  t.strictSame(urls(await accept(server, 1)), ['/a', '/b'])
  await first
  await Promise.all([events.return?.(), other.return?.()])
})

t.test('a page has one listener for each connection, and none without', async (t) => {
  const page = openDocument(t)
  const timers = holdTimers(t, 60_000)
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  for (let index = 0; index < 20; index += 1) {
    const opening = Promise.all(['a', 'b'].map((path) => client.service(path).live()))
    const streams = await accept(server, index)
    const lists = await opening
    t.equal(page.listeners.size, 1)
    page.show('hidden')
    for (const list of lists) list.close()
    await until(() => streams.every(({ isClosed }) => isClosed))
    await until(() => page.listeners.size === 0)
    t.equal(timers.size, 0)
    page.show('visible')
  }
})
