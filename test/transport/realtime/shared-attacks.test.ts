import { connect } from 'node:net'
import { queryObjects } from 'node:v8'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { EventConnection } from '../../../src/transport/realtime/event-connection.ts'
import { QueryStream } from '../../../src/transport/realtime/query-stream.ts'
import { RoutedResponse } from '../../../src/transport/realtime/routed-response.ts'
import { forge } from '../../auth/login-app.ts'
import { addAccounts, bearer } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames, Refusal } from '../../support/event-frames.ts'
import { askForFrames } from '../../support/event-frames.ts'
import { laterTurns, until } from '../../support/until.ts'
import type { LiveServer } from './live-server.ts'
import { startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const calls: string[] = []

/** Starts a server whose `tasks` show each user those of the own team, and `own` those of the user. */
function start(maxStreamsPerCaller = 1_000): Promise<LiveServer> {
  return startLiveServer(
    t,
    async (app) => {
      const accounts = addAccounts(app)
      for (const path of ['tasks', 'own', 'others']) {
        app.use(path, new MongoDBService({ Model, multi: true }))
        app.service(path).hooks({
          before: { find: [authenticate('jwt'), () => void calls.push(path)] },
        })
      }
      app.service('own').hooks({
        before: {
          find: [
            ({ params }: HookContext) => {
              params.query = { ...params.query, owner: Object(params.user).id }
            },
          ],
        },
      })
      app.use('memory', { find: async () => [] } as never)
      app.fastify.get('/act', () => {
        calls.push('act')
        return { secret: 'page' }
      })
      for (const id of [1, 2]) await accounts.addUser({ id, email: `${id}@example.org` })
    },
    { realtime: { maxStreamsPerCaller } },
  )
}

const [server, otherProcess] = [await start(), await start(40)]
const ann = bearer(await forge({ claims: { sub: '1', jti: 'a' } }))
const bob = bearer(await forge({ claims: { sub: '2', jti: 'b' } }))

t.beforeEach(async () => {
  await empty('tasks')
  calls.length = 0
})

/** Sends a body to the route of the lists. */
function post(
  body: unknown,
  headers: Record<string, string> = ann,
): Promise<EventFrames | Refusal> {
  return askForFrames(t, `${server.url}/live-queries`, headers, body)
}

/** Opens a stream of a path and has its snapshot. Resolves to the stream and its position. */
async function openOne(url: string, headers = ann, on = server) {
  const stream = await on.share([{ id: '1', url }], headers)
  const snapshot = (await stream.upTo(({ event }) => event === '1/snapshot')).at(-1)
  return { stream, snapshot, after: snapshot?.id ?? '' }
}

/** Resolves to the events of a stream up to its first snapshot, or its first record. */
async function comeBack(url: string, after: string, headers = ann, on = server) {
  const stream = await on.share([{ id: '1', url, after }], headers)
  const frames = await stream.upTo(({ event }) => /snapshot|created|end$/.test(event))
  return { stream, frames, events: frames.map(({ event }) => event) }
}

const ANEW = ['1/open', '1/resync', '1/snapshot']

t.test('LIVE-1: the position of a stream of another user', async (t) => {
  await Model.insertMany([{ owner: 1, name: 'of Ann' }, { owner: 2 }])
  const own = await openOne('/own')
  const stolen = await comeBack('/own', own.after, bob)
  t.strictSame(stolen.events, ANEW)
  t.match(stolen.frames.at(-1)?.data, [{ owner: 2 }])
  t.equal(stolen.frames.at(-1)?.data.length, 1)
  // The same view for both: its events are the other user's too, but not what was sent to Ann.
  const shared = await openOne('/tasks')
  await server.app.service('tasks').create({ name: 'new' } as never)
  const second = await comeBack('/tasks', shared.after, bob)
  t.strictSame(second.events, ['1/open', '1/created'])
  t.match(await shared.stream.next(), { event: '1/created' }, 'that of Ann goes on')
  t.notOk(shared.stream.hasEnded)
  await server.leave(shared.stream)
  const { hub } = server
  const kept = shared.after.split('.').at(-1) ?? ''
  t.equal(hub.ended.take(kept, 'user 2'), undefined, 'nor once it has ended')
  t.ok(hub.ended.take(kept, 'user 1'))
})

t.test('LIVE-2: the position of a stream of another query or service', async (t) => {
  await Model.insertMany([{ team: 'red' }, { team: 'blue' }])
  for (const url of ['/tasks?team=blue', '/tasks', '/others?team=red', '/own']) {
    const { after, stream } = await openOne('/tasks?team=red')
    const next = await comeBack(url, after)
    t.strictSame(next.events, ANEW, url)
    await Promise.all([stream.close(), next.stream.close()])
  }
})

t.test('LIVE-3: the position of a stream of another process, or one that is made up', async (t) => {
  const { after } = await openOne('/tasks')
  const [epoch, number, view, token] = after.split('.')
  for (const forged of [
    after,
    `${epoch}.${number}.${view}.${'A'.repeat(22)}`,
    `${epoch}.999999.${view}.${token}`,
    `${epoch}.-1.${view}.${token}`,
    '....',
    'a',
    '__proto__.constructor.0.0',
  ]) {
    t.strictSame((await comeBack('/tasks', forged, ann, otherProcess)).events, ANEW, forged)
  }
})

t.test('LIVE-4: a rejected stream says nothing about the others', async (t) => {
  await Model.insertMany([{ owner: 1, name: 'secret of Ann' }])
  const stream = await server.share(
    [
      { id: 'tasks', url: '/tasks' },
      { id: 'users', url: '/users/1' },
      { id: 'none', url: '/none' },
    ],
    { authorization: 'Bearer of nobody' },
  )
  const frames = await stream.rest()
  t.strictSame(frames.map(({ event, data }) => [event, data.error.code]).sort(), [
    ['none/end', 404],
    ['tasks/end', 401],
    ['users/end', 406],
  ])
  t.ok(frames.every(({ id }) => id === undefined))
  t.notMatch(JSON.stringify(frames), /secret|Bearer/)
})

t.test('LIVE-5: 10,000 streams that come and go leave nothing in memory', async (t) => {
  const { hub } = server
  const kinds = [QueryStream, RoutedResponse, EventConnection]
  const count = () => kinds.map((kind) => queryObjects(kind, { format: 'count' }))
  const list = Array.from({ length: 100 }, (_, index) => ({ id: `${index}`, url: '/memory' }))
  let after = ''
  for (let round = 0; round < 100; round += 1) {
    const [first = {}, ...others] = list
    const stream = await server.share([after === '' ? first : { ...first, after }, ...others], ann)
    await until(() => stream.frames.length >= 199)
    if (round === 0) t.strictSame(count(), [100, 100, 1])
    await stream.close()
    after = stream.lastId
  }
  await until(() => hub.size === 0)
  t.strictSame(hub.countByPath(), {})
  await laterTurns()
  t.strictSame(count(), [0, 0, 0])
})

t.test('LIVE-6: bodies with too many subscriptions, or with something else', async (t) => {
  const one = { id: '1', url: '/tasks' }
  const many = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ ...one, id: `${id}` }))
  const bodies: unknown[] = [
    { subscriptions: many(101) },
    { subscriptions: many(10_000) },
    { subscriptions: [] },
    { subscriptions: { length: 1, 0: one } },
    { subscriptions: [null] },
    { subscriptions: [one, one] },
    { subscriptions: [one], more: 1 },
    { subscriptions: [{ ...one, headers: { authorization: 'Bearer x' } }] },
    { subscriptions: [{ ...one, method: 'DELETE' }] },
    { subscriptions: [{ url: '/tasks' }] },
    { subscriptions: [{ ...one, id: 'a\ndata: x' }] },
    { subscriptions: [{ ...one, id: 1 }] },
    { subscriptions: [{ ...one, id: 'i'.repeat(33) }] },
    { subscriptions: [{ ...one, after: '' }] },
    { subscriptions: [{ ...one, after: 'a\r\nx-user: 1' }] },
    { subscriptions: [{ ...one, after: ['a'] }] },
    { subscriptions: [{ ...one, after: 'a'.repeat(513) }] },
    {
      subscriptions: [
        { ...one, after: 'a' },
        { id: '2', url: '/tasks', after: 'a' },
      ],
    },
    [one],
    'null',
    '"text"',
    '{"subscriptions":[{"id":"1","url":"/tasks","__proto__":{"after":"x"}}]}',
    '{',
    '',
  ]
  for (const body of bodies) {
    t.match(
      await post(body),
      { status: 400, body: { code: 400 } },
      JSON.stringify(body)?.slice(0, 80),
    )
  }
  t.match(await post(`{"subscriptions":[${' '.repeat(2 ** 20)}]}`), { status: 413 })
  t.strictSame(calls, [])
  t.equal((await server.request('/tasks', { headers: ann })).status, 200)
})

t.test('LIVE-7: URLs that lead elsewhere', async (t) => {
  const rejected = [
    'tasks',
    '',
    '//example.org/tasks',
    '/\\example.org',
    'http://example.org/tasks',
  ]
  rejected.push('*', '/tasks\r\nx: y', '/tasks\n', '/ta sks', '/t\u00e4sks', '/tasks#a', 'data:,x')
  rejected.push(`/${'a'.repeat(16_384)}`)
  for (const url of rejected) {
    t.match(await post({ subscriptions: [{ id: '1', url }] }), { status: 400 }, url.slice(0, 40))
  }
  const urls = [
    '/act',
    '/live-queries',
    '/tasks/../act',
    '/../tasks',
    '/%2e%2e/act',
    '/tasks/%2e%2e',
  ]
  urls.push('/.', '/health', '/tasks%00', '/%', '/users/1', '/authentication', '/')
  const stream = await server.share(
    urls.map((url, index) => ({ id: `${index}`, url })),
    ann,
  )
  const frames = await stream.rest()
  t.equal(frames.length, urls.length)
  for (const { event, data } of frames) {
    t.equal(data.reason, 'refused')
    t.ok([400, 404, 405, 406].includes(data.error.code), `${event} ${data.error.code}`)
  }
  t.notMatch(JSON.stringify(frames), /secret/)
  t.strictSame(calls, [], 'no other route has run')
})

t.test('LIVE-8: bodies that pages of other sites can send', async (t) => {
  const list = { subscriptions: [{ id: '1', url: '/tasks' }] }
  const form = 'subscriptions[0][id]=1&subscriptions[0][url]=/tasks'
  const foreign = { ...ann, origin: 'https://evil.example', cookie: 'a=b' }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const body = type.includes('form') ? form : JSON.stringify(list)
    const answer = await post(body, { ...foreign, 'content-type': type })
    t.match(answer, { status: 415, body: { code: 415 } }, type)
  }
  t.match(await post(list, { ...ann, accept: 'application/json' }), { status: 406 })
  t.match(await post(list, { ...ann, accept: 'text/event-stream;q=0' }), { status: 406 })
  t.strictSame(calls, [])
})

t.test('LIVE-9: headers that would say something else to the streams', async (t) => {
  const seen: object[] = []
  const own = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    app.fastify.addHook('onRequest', async ({ method, headers, raw }) => {
      if (method === 'GET') seen.push({ ...headers, raw: raw.rawHeaders.join() })
    })
  })
  const body = JSON.stringify({ subscriptions: [{ id: '1', url: '/tasks' }] })
  const lines = [
    ...['POST /live-queries HTTP/1.1', `Host: 127.0.0.1:${own.port}`, 'Accept: text/event-stream'],
    ...['Content-Type: application/json', 'X-Service-Method: remove', 'Transfer-Encoding: chunked'],
    ...[
      'X-HTTP-Method-Override: DELETE',
      'Upgrade-Insecure-Requests: 1',
      'Content-Encoding: identity',
    ],
    ...[
      'Range: bytes=0-1',
      'If-None-Match: *',
      'Last-Event-ID: a.b.c',
      'Connection: keep-alive, x-a',
    ],
    ...['', body.length.toString(16), body, '0', '', ''],
  ]
  const socket = connect(own.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  socket.write(lines.join('\r\n'))
  await until(() => text.includes('1/snapshot'))
  socket.destroy()
  const [{ raw, ...headers } = { raw: '' }] = seen as { raw: string }[]
  t.strictSame(headers, {
    host: `127.0.0.1:${own.port}`,
    accept: 'text/event-stream',
    'upgrade-insecure-requests': '1',
  })
  t.notMatch(raw.toLowerCase(), /transfer|content|override|service-method|range|last-event/)
})

t.test('LIVE-10: limits count the streams of all connections', async (t) => {
  const list = Array.from({ length: 30 }, (_, index) => ({ id: `${index}`, url: '/tasks' }))
  const first = await otherProcess.share(list, ann)
  await until(() => first.frames.length === 60)
  const second = await otherProcess.share(list, ann)
  await until(() => second.frames.length === 40)
  const refused = second.frames.filter(({ event }) => /end$/.test(event))
  t.equal(refused.length, 20)
  t.match(refused[0]?.data, { reason: 'refused', error: { code: 429 } })
  const third = await otherProcess.share(list, ann)
  t.equal((await third.rest()).length, 30, 'a connection without a stream ends')
  t.equal(otherProcess.hub.size, 40)
  const other = await otherProcess.share([{ id: '1', url: '/tasks' }], bob)
  t.match(await other.next(), { event: '1/open' })
})
