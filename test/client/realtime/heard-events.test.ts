import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import type { Client } from '../../../src/client/index.ts'
import { authentication } from '../../../src/client/index.ts'
import { realtime } from '../../../src/client/realtime/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import type { EventServer, ServedStream } from '../../support/event-server.ts'
import { startEventServer } from '../../support/event-server.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { laterTurns, until } from '../../support/until.ts'
import { connect } from './live-client.ts'

const EMPTY_PAGE = { total: 9, limit: 0, skip: 0, data: [] }

/** Answers a write with the record that it has made. */
async function answerWrite(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  response.setHeader('content-type', 'application/json')
  response.end(Buffer.concat(chunks))
}

interface Heard {
  readonly server: EventServer
  readonly client: Client
  readonly events: unknown[]
  readonly warnings: unknown[]
}

/** Starts a server and listens to the events of `tasks`, which are written down with their records. */
async function listen(t: TestScope, answer = answerWrite): Promise<Heard> {
  const server = await startEventServer(t, answer)
  const client = connect(t, server.url)
  const warnings: unknown[] = []
  client.logger = { ...console, warn: (details: unknown) => void warnings.push(details) }
  const events: unknown[] = []
  for (const event of ['created', 'patched', 'removed']) {
    client.service('tasks').on(event, (data) => events.push([event, data]))
  }
  return { server, client, events, warnings }
}

async function open(server: EventServer, index = 0): Promise<ServedStream> {
  const stream = await server.stream(index)
  return stream.open(EMPTY_PAGE)
}

/** Resolves when a stream has told all that was sent by it, by an event of its own. */
async function settle({ client }: Heard, stream: ServedStream): Promise<void> {
  const told = new Promise((resolve) => client.service('tasks').once('settled', resolve))
  stream.send('settled', {})
  await told
}

t.test('listeners hear what others write, by one stream without records', async (t) => {
  const heard = await listen(t)
  const stream = await open(heard.server)
  t.equal(stream.url, '/tasks?%24limit=0')
  stream.send('created', { id: 1 }).send('patched', { id: 1, a: 2 }).send('removed', { id: 1 })
  await settle(heard, stream)
  t.strictSame(heard.events, [
    ['created', { id: 1 }],
    ['patched', { id: 1, a: 2 }],
    ['removed', { id: 1 }],
  ])
  t.equal(heard.server.streams.length, 1)
})

t.test('listeners get a context, which has what is known of the call', async (t) => {
  const { server, client } = await listen(t)
  const tasks = client.service('tasks')
  const told = new Promise<HookContext>((resolve) => {
    tasks.on('patched', (_data, context) => resolve(context as unknown as HookContext))
  })
  ;(await open(server)).send('patched', { _id: 'a', done: true })
  const { app, service, path, method, id, result, params, event } = await told
  t.equal(app, client)
  t.equal(service, tasks)
  t.strictSame([path, method, id, event, params], ['tasks', 'patch', 'a', 'patched', {}])
  t.strictSame(result, { _id: 'a', done: true })
})

t.test(
  'events of names that the server has made are heard, and that some were missed',
  async (t) => {
    const { server, client } = await listen(t)
    const names: string[] = []
    const told = new Promise((resolve) => {
      for (const name of ['resync', 'reminded']) {
        client.service('tasks').on(name, () => void (names.push(name) === 2 && resolve(undefined)))
      }
    })
    ;(await open(server)).send('resync', {}).send('snapshot', EMPTY_PAGE).send('reminded', 1)
    await told
    t.strictSame(names, ['resync', 'reminded'])
  },
)

t.test('the stream is there as long as a listener is', async (t) => {
  const server = await startEventServer(t)
  const tasks = connect(t, server.url).service('tasks')
  const listener = (): void => undefined
  await laterTurns()
  t.equal(server.streams.length, 0)
  tasks.on('created', listener).on('patched', listener)
  const first = await open(server)
  tasks.off('created', listener)
  first.send('created', {})
  await laterTurns()
  t.notOk(first.isClosed)
  tasks.off('patched', listener)
  await until(() => first.isClosed)
  tasks.once('created', listener)
  const second = (await open(server, 1)).send('created', {})
  await until(() => second.isClosed)
  tasks.on('removed', listener)
  const third = await open(server, 2)
  tasks.removeAllListeners()
  await until(() => third.isClosed)
  t.equal(server.streams.length, 3)
})

t.test('what the client writes is told once, by the stream', async (t) => {
  const heard = await listen(t)
  const tasks = heard.client.service('tasks')
  const stream = await open(heard.server)
  await settle(heard, stream)
  await tasks.create({ id: 1 })
  t.strictSame(heard.events, [])
  stream.send('created', { id: 1, by: 'the server' })
  await settle(heard, stream)
  t.strictSame(heard.events, [['created', { id: 1, by: 'the server' }]])
})

t.test('an event of the name that a hook gives is told here', async (t) => {
  const heard = await listen(t)
  const tasks = heard.client.service('tasks')
  const rename = (context: HookContext): void => {
    context.event = 'drafted'
  }
  tasks.hooks({ after: { create: [rename] } })
  const drafted: unknown[] = []
  tasks.on('drafted', (data) => drafted.push(data))
  await settle(heard, await open(heard.server))
  await tasks.create({ id: 1 })
  t.strictSame([drafted, heard.events], [[{ id: 1 }], []])
})

t.test('what is written before the stream is there is told here, once', async (t) => {
  const heard = await listen(t)
  const tasks = heard.client.service('tasks')
  await tasks.create([{ id: 1 }, { id: 2 }])
  const told = [
    ['created', { id: 1 }],
    ['created', { id: 2 }],
  ]
  t.strictSame(heard.events, told)
  const stream = (await open(heard.server)).send('created', { id: 1 }).send('created', { id: 2 })
  stream.send('created', { id: 2 })
  await settle(heard, stream)
  t.strictSame(heard.events, [...told, ['created', { id: 2 }]])
})

t.test('it is told once as well where the stream is faster than the answer', async (t) => {
  const gate = new Gate()
  t.teardown(() => gate.open())
  const heard = await listen(t, async (request, response) => {
    await gate.pass()
    return answerWrite(request, response)
  })
  const creating = heard.client.service('tasks').create({ id: 1 })
  await gate.arrivals(1)
  const stream = (await open(heard.server)).send('created', { id: 1 })
  await settle(heard, stream)
  t.strictSame(heard.events, [['created', { id: 1 }]])
  gate.open()
  await creating
  t.strictSame(heard.events, [['created', { id: 1 }]])
})

t.test('where the server refuses the stream, what the client writes is told here', async (t) => {
  const heard = await listen(t)
  const tasks = heard.client.service('tasks')
  ;(await heard.server.stream(0)).refuse(406, 'NotAcceptable')
  await until(() => heard.warnings.length === 1)
  t.match(heard.warnings, [{ err: { name: 'NotAcceptable' } }])
  await tasks.create({ id: 1 })
  tasks.on('updated', () => undefined)
  await laterTurns()
  t.strictSame(heard.events, [['created', { id: 1 }]])
  t.equal(heard.server.streams.length, 1)
})

t.test('a path with a placeholder has no stream: listeners name no value', async (t) => {
  const { server, client, warnings } = await listen(t)
  await server.stream(0)
  const comments = client.service('posts/:postId/comments')
  const events: unknown[] = []
  comments.on('created', (data) => events.push(data))
  await comments.create({ id: 1 }, { route: { postId: 'a' } } as never)
  t.strictSame([events, warnings], [[{ id: 1 }], []])
  t.equal(server.streams.length, 1)
})

t.test('a login asks again for what was refused, and begins anew as another user', async (t) => {
  const users = ['ann', 'ann', 'ben']
  const { server, client, events, warnings } = await listen(t, async (request, response) => {
    if (request.url !== '/authentication') {
      response.writeHead(401).end()
      return
    }
    const sub = users.shift()
    const body = { accessToken: `${sub}-${users.length}`, authentication: { payload: { sub } } }
    response.end(JSON.stringify(request.method === 'DELETE' ? {} : body))
  })
  client.configure(authentication())
  ;(await server.stream(0)).refuse(401, 'NotAuthenticated')
  await until(() => warnings.length === 1)
  await client.authenticate({ strategy: 'local' })
  const ann = (await open(server, 1)).send('created', { id: 1 }, 'id-1')
  t.equal(ann.headers.authorization, 'Bearer ann-2')
  await until(() => events.length === 1)
  await client.authenticate({ strategy: 'local' })
  await laterTurns()
  t.notOk(ann.isClosed)
  await client.authenticate({ strategy: 'local' })
  const ben = await server.stream(2)
  t.match(ben, { headers: { authorization: 'Bearer ben-0' }, after: undefined })
  await until(() => ann.isClosed)
  ben.open(EMPTY_PAGE)
  await client.logout()
  t.notOk('authorization' in (await server.stream(3)).headers)
  await until(() => ben.isClosed)
})

t.test('a service that is removed has no streams', async (t) => {
  const { server, client, warnings } = await listen(t)
  const stream = await open(server)
  const opening = client.service('tasks').live()
  for (const one of await server.connection(1)) one.open([])
  const list = await opening
  await client.unuse('tasks')
  await until(() => server.streams.every(({ isClosed }) => isClosed))
  t.equal(list.status, 'closed')
  t.ok(stream.isClosed)
  t.strictSame(warnings, [])
})

t.test('services that are there before, and those of the client itself', async (t) => {
  const server = await startEventServer(t)
  const client = connect(t, server.url)
  const own = { find: async () => [] }
  client.use('own', own)
  t.notOk('subscribe' in client.service('own'))
  const app = createApp().configure(realtime())
  app.use('local', own)
  t.notOk('live' in app.service('local'))
})

t.test('options that are unknown or invalid are refused', async (t) => {
  const refused: [object, RegExp][] = [
    [{ silence: 1 }, /realtime\(\): unknown option 'silence'/],
    [{ silenceMs: 0 }, /'silenceMs' must be a number above 0/],
    [{ reconnectMs: '1' }, /'reconnectMs' must be/],
    [{ maxReconnectMs: Number.NaN }, /'maxReconnectMs' must be/],
    [{ maxWaiting: -1 }, /'maxWaiting' must be/],
    [{ hiddenMs: 0 }, /'hiddenMs' must be/],
    [{ recountMs: 0 }, /'recountMs' must be/],
    [{ path: '' }, /'path' must be a path/],
  ]
  for (const [options, message] of refused) t.throws(() => realtime(options), message)
  const client = connect(t, 'http://localhost')
  t.throws(() => client.configure(realtime()), /has live queries already/)
  t.throws(() => client.configure(realtime as never), /lacks the call of realtime/)
})
