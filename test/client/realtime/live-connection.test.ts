import t from 'tap'
import { AuthenticationClient, authentication } from '../../../src/client/index.ts'
import {
  Forbidden,
  GeneralError,
  NotAcceptable,
  NotAuthenticated,
  Unavailable,
} from '../../../src/core/index.ts'
import { holdTimers } from '../../support/clock.ts'
import type { EventServer, ServedStream } from '../../support/event-server.ts'
import { startEventServer } from '../../support/event-server.ts'
import type { TestScope } from '../../support/http.ts'
import { laterTurns, until } from '../../support/until.ts'
import { errorOf } from '../error-of.ts'
import { connect, take } from './live-client.ts'

/** A wait that no test lives through. */
const LONG_MS = 100_000_000

/** Waits are as long as they can be, until the end of the test. */
function waitLongest(t: Pick<TestScope, 'teardown'>): void {
  const { random } = Math
  t.teardown(() => Object.assign(Math, { random }))
  Math.random = () => 1
}

async function open(server: EventServer, index: number): Promise<ServedStream> {
  return (await server.stream(index)).open([])
}

/** Ends a stream in some way, and resolves to the one that is asked for then. */
async function comeBack(
  t: TestScope,
  end: (stream: ServedStream) => unknown,
  options: object = {},
  answer?: Parameters<typeof startEventServer>[1],
): Promise<{ readonly again: ServedStream; readonly events: AsyncIterator<unknown> }> {
  const server = await startEventServer(t, answer)
  const events = connect(t, server.url, options).service('tasks').subscribe()
  const taking = take(events, 2)
  const stream = (await open(server, 0)).send('created', { id: 1 }, 'id-1')
  await taking
  end(stream)
  return { again: await server.stream(1), events }
}

const LOSSES: Readonly<Record<string, (stream: ServedStream) => unknown>> = {
  'breaks the connection': (stream) => stream.destroy(),
  'ends it without a word': (stream) => stream.end(),
  closes: (stream) => stream.end('closing'),
  'ends an expired login': (stream) => stream.end('expired'),
  'gives a reason of a later version': (stream) => stream.end('tired'),
  'ends it with something else': (stream) => stream.send('end', 7).end(),
}

for (const [title, end] of Object.entries(LOSSES)) {
  t.test(`goes on from the last event after the server ${title}`, async (t) => {
    const { again, events } = await comeBack(t, end, {}, (_request, response) => response.end('[]'))
    t.equal(again.after, 'id-1')
    again.open().send('created', { id: 2 }, 'id-2')
    t.match(await events.next(), { value: { type: 'created', data: { id: 2 } } })
  })
}

t.test('an event without an id leaves the last one, an empty one takes it away', async (t) => {
  const kept = await comeBack(t, (stream) => stream.send('created', {}).end())
  t.equal(kept.again.after, 'id-1')
  const gone = await comeBack(t, (stream) => stream.send('resync', {}, '').end())
  t.equal(gone.again.after, undefined)
  t.match(await take(gone.events, 1), [{ type: 'resync' }])
})

t.test('an id that the server would refuse as a position is not sent', async (t) => {
  const { again } = await comeBack(t, (stream) => stream.send('created', {}, 'ünï 1').end())
  t.equal(again.after, undefined)
})

t.test('a stream that is silent is opened again', async (t) => {
  const silence = holdTimers(t, 54_321)
  const { again } = await comeBack(t, () => silence.fire(), { silenceMs: 54_321 })
  t.equal(again.after, 'id-1')
})

t.test('heartbeats break the silence', async (t) => {
  const server = await startEventServer(t)
  const silence = holdTimers(t, 54_321)
  const events = connect(t, server.url, { silenceMs: 54_321 }).service('tasks').subscribe()
  const [first, stream] = [events.next(), await open(server, 0)]
  await first
  await until(() => silence.count >= 2)
  stream.write(':\n\n')
  await until(() => silence.count >= 3)
  t.equal(silence.size, 1)
})

t.test('a stream that was ended comes back after a while', async (t) => {
  waitLongest(t)
  const options = { reconnectMs: LONG_MS, maxReconnectMs: LONG_MS }
  for (const reason of ['closing', 'tired', undefined]) {
    const server = await startEventServer(t)
    const timers = holdTimers(t, LONG_MS)
    const events = connect(t, server.url, options).service('tasks').subscribe()
    void events.next()
    ;(await open(server, 0)).end(reason)
    await until(() => timers.size === 1)
    timers.fire()
    await server.stream(1)
    await events.return?.()
  }
})

t.test('waits twice as long after each attempt, to a limit, until there is an event', async (t) => {
  waitLongest(t)
  const waits = [1000, 2000, 4000, 5000].map((ms) => holdTimers(t, ms))
  const server = await startEventServer(t)
  const events = connect(t, server.url, { reconnectMs: 1000, maxReconnectMs: 5000 })
    .service('tasks')
    .subscribe()
  void events.next()
  for (const [index, expected] of [0, 1, 2, 3, 3].entries()) {
    ;(await server.stream(index)).refuse(503, 'Unavailable')
    await until(() => waits[expected]?.size === 1)
    waits[expected]?.fire()
  }
  ;(await open(server, 5)).end()
  await until(() => waits[0]?.size === 1)
  await events.return?.()
  t.equal(server.streams.length, 6)
})

t.test('the server says how long waits are at first', async (t) => {
  waitLongest(t)
  const timers = holdTimers(t, 4321)
  const server = await startEventServer(t)
  const options = { reconnectMs: undefined, maxReconnectMs: 30_000 }
  const tasks = connect(t, server.url, options as never).service('tasks')
  const events = tasks.subscribe()
  void events.next()
  ;(await server.stream(0)).open().write('retry: 4321\n\nretry: soon\n\n').end()
  await until(() => timers.size === 1)
  await events.return?.()
})

t.test('the option says it instead, where it is given', async (t) => {
  waitLongest(t)
  const timers = holdTimers(t, 1234)
  const server = await startEventServer(t)
  const options = { reconnectMs: 1234, maxReconnectMs: 30_000 }
  const events = connect(t, server.url, options).service('tasks').subscribe()
  void events.next()
  ;(await server.stream(0)).open().write('retry: 4321\n\n').end()
  await until(() => timers.size === 1)
  await events.return?.()
})

t.test('chance decides how much of a wait passes', async (t) => {
  const { random } = Math
  t.teardown(() => Object.assign(Math, { random }))
  Math.random = () => 0.25
  const timers = holdTimers(t, 250)
  const server = await startEventServer(t)
  const events = connect(t, server.url, { reconnectMs: 1000, maxReconnectMs: 30_000 })
    .service('tasks')
    .subscribe()
  void events.next()
  ;(await server.stream(0)).destroy()
  await until(() => timers.size === 1)
  await events.return?.()
})

for (const status of [429, 503]) {
  t.test(`waits as long as an answer ${status} says`, async (t) => {
    const timers = holdTimers(t, 7000)
    const server = await startEventServer(t)
    const events = connect(t, server.url).service('tasks').subscribe()
    const first = events.next()
    ;(await server.stream(0)).refuse(status, '', {}, 7)
    await until(() => timers.size === 1)
    timers.fire()
    await open(server, 1)
    t.match(await first, { value: { type: 'snapshot' } })
  })
}

t.test('an answer of 500 and above passes', async (t) => {
  const server = await startEventServer(t)
  const events = connect(t, server.url).service('tasks').subscribe()
  const first = events.next()
  for (const [index, status] of [500, 502, 504].entries()) {
    ;(await server.stream(index)).refuse(status, 'GeneralError')
  }
  await open(server, 3)
  t.match(await first, { value: { type: 'snapshot' } })
})

t.test('a login that has expired is renewed by an ordinary call', async (t) => {
  const tokens = ['old', 'new']
  const finds: unknown[] = []
  const server = await startEventServer(t, ({ url, headers: { authorization } }, response) => {
    response.setHeader('content-type', 'application/json')
    if (url === '/tasks') {
      finds.push(authorization)
      if (authorization !== 'Bearer old') return response.end('[]')
      const data = { name: 'TokenExpiredError' }
      const body = { name: 'NotAuthenticated', code: 401, data }
      return response.writeHead(401).end(JSON.stringify(body))
    }
    const body = { accessToken: tokens.shift(), authentication: { payload: { sub: '1' } } }
    return response.end(JSON.stringify(body))
  })
  class Program extends AuthenticationClient {
    override reAuthenticate() {
      return this.authenticate({ strategy: 'local' })
    }
  }
  const client = connect(t, server.url)
  client.configure(authentication({ Authentication: Program }))
  await client.authenticate({ strategy: 'local' })
  const events = client.service('tasks').subscribe()
  const taking = take(events, 2)
  ;(await open(server, 0)).send('created', 1, 'id-1').end('expired')
  await taking
  const renewed = await server.stream(1)
  t.strictSame(finds, ['Bearer old', 'Bearer new'])
  const sent = server.streams.map(({ headers }) => headers.authorization)
  t.strictSame(sent, ['Bearer old', 'Bearer new'])
  t.equal(renewed.after, 'id-1')
  renewed.open().send('created', 2)
  t.match(await events.next(), { value: { data: 2 } })
})

for (const end of ['expired', 'refused'] as const) {
  t.test(`a login that can not be renewed ends the loop: ${end}`, async (t) => {
    const server = await startEventServer(t, (_request, response) =>
      response.writeHead(401).end('{"name":"NotAuthenticated","code":401,"message":"Log in"}'),
    )
    const events = connect(t, server.url).service('tasks').subscribe()
    const taking = take(events, 1)
    const stream = await open(server, 0)
    await taking
    const error = errorOf(events.next())
    if (end === 'expired') stream.end('expired')
    else stream.refuse(401, 'NotAuthenticated')
    t.ok((await error) instanceof NotAuthenticated)
    t.equal((await error).message, 'Log in')
    await laterTurns()
    t.equal(server.streams.length, 1)
  })
}

t.test('a login that is renewed and refused again is asked for after a wait', async (t) => {
  waitLongest(t)
  const waits = [1000, 2000].map((ms) => holdTimers(t, ms))
  const server = await startEventServer(t, (_request, response) => response.end('[]'))
  const options = { reconnectMs: 500, maxReconnectMs: 5000 }
  const events = connect(t, server.url, options).service('tasks').subscribe()
  void events.next()
  for (const index of [0, 1]) {
    ;(await server.stream(index)).refuse(401, 'NotAuthenticated')
  }
  await until(() => waits[0]?.size === 1)
  waits[0]?.fire()
  ;(await server.stream(2)).refuse(401, 'NotAuthenticated')
  await until(() => waits[1]?.size === 1)
  await events.return?.()
})

t.test('a client that may read no longer is told so', async (t) => {
  for (const message of ['You have left the team', undefined]) {
    const server = await startEventServer(t)
    const events = connect(t, server.url).service('tasks').subscribe()
    const taking = take(events, 1)
    const stream = await open(server, 0)
    await taking
    stream.end('refused', message)
    const error = await errorOf(events.next())
    t.ok(error instanceof Forbidden)
    t.equal(error.message, message ?? 'The server has ended the stream: refused')
    await laterTurns()
    t.equal(server.streams.length, 1)
  }
})

t.test('an answer that is no stream of events is said to be one', async (t) => {
  const server = await startEventServer(t)
  const events = connect(t, server.url).service('tasks').subscribe()
  const error = errorOf(events.next())
  ;(await server.stream(0)).answer(200, [{ id: 1 }])
  t.ok((await error) instanceof NotAcceptable)
  t.match((await error).message, /answered 200 with application\/json and not with a stream/)
  t.equal(server.streams.length, 1)
})

t.test('a redirect that is not followed ends a stream', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const events = client.service('tasks').subscribe({ connection: { redirect: 'manual' } })
  const error = errorOf(events.next())
  ;(await server.stream(0)).answer(302, {}, { location: '/elsewhere' })
  t.ok((await error) instanceof GeneralError)
  t.match((await error).message, /redirects/)
  t.equal(server.streams.length, 1)
})

t.test('reads frames however they are cut and written', async (t) => {
  const server = await startEventServer(t)
  const events = connect(t, server.url).service('tasks').subscribe()
  const taking = take(events, 4)
  const stream = await open(server, 0)
  stream.write(': a comment\n\nunknown: field\nno colon\n\nevent: 1/nothing\n\n')
  stream.write('event: 1/created\r\ndata: {"text":\r\ndata: "two lines"}\r\n\r\n')
  stream.write('event:1/created\ndata:"no blanks"\n\n')
  const bytes = Buffer.from('event: 1/created\ndata: "größe 🪶"\n\n')
  for (const byte of bytes) {
    stream.writeBytes(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  t.strictSame(await taking, [
    { type: 'snapshot', data: [] },
    { type: 'created', data: { text: 'two lines' } },
    { type: 'created', data: 'no blanks' },
    { type: 'created', data: 'größe 🪶' },
  ])
})

t.test('frames of no subscription, and of another one, are not read', async (t) => {
  const server = await startEventServer(t)
  const events = connect(t, server.url).service('tasks').subscribe()
  const taking = take(events, 2)
  const stream = await open(server, 0)
  for (const name of ['created', '2/created', '/created', '11/created']) {
    stream.write(`event: ${name}\ndata: {nothing\n\n`)
  }
  stream.write('data: {"without": "a name"}\n\n').send('tasks/reminded', 7)
  t.strictSame(await taking, [
    { type: 'snapshot', data: [] },
    { type: 'tasks/reminded', data: 7 },
  ])
})

t.test('a frame that the connection breaks off is none', async (t) => {
  const { again, events } = await comeBack(t, (stream) =>
    stream.write('id: id-2\nevent: 1/created\ndata: {"half').end(),
  )
  t.equal(again.after, 'id-1')
  again.open().send('created', 'whole')
  t.match(await events.next(), { value: { data: 'whole' } })
})

t.test('an event that is not JSON has the stream begin anew', async (t) => {
  const server = await startEventServer(t)
  const tasks = await Promise.all([
    connect(t, server.url).service('tasks').live(),
    open(server, 0),
  ]).then(([list]) => list)
  server.streams[0]
    ?.send('created', { id: 1 }, 'id-1')
    .write('event: 1/patched\ndata: {nothing\n\n')
  const again = await server.stream(1)
  t.match(tasks.error, { message: "The event 'patched' is not JSON" })
  t.ok(tasks.error instanceof GeneralError)
  t.equal(again.after, undefined)
  again.open([{ id: 2 }])
  await until(() => tasks.data.length === 1 && tasks.error === undefined)
  t.strictSame(tasks.data, [{ id: 2 }])
})

t.test('while there is no connection, it says why', async (t) => {
  waitLongest(t)
  const timers = holdTimers(t, LONG_MS)
  const server = await startEventServer(t)
  const options = { reconnectMs: LONG_MS, maxReconnectMs: LONG_MS }
  const opening = connect(t, server.url, options).service('tasks').live()
  const stream = await open(server, 0)
  const tasks = await opening
  t.strictSame([tasks.status, tasks.error], ['open', undefined])
  stream.destroy()
  await until(() => tasks.status === 'waiting')
  t.ok(tasks.error instanceof Unavailable)
  timers.fire()
  const again = await server.stream(1)
  t.equal(tasks.status, 'connecting')
  again.open()
  await until(() => tasks.status === 'open')
  t.equal(tasks.error, undefined)
})
