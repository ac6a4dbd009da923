import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { Forbidden } from '../../../src/core/index.ts'
import type { RestOptions } from '../../../src/transport/index.ts'
import { rest } from '../../../src/transport/index.ts'
import { forge } from '../../auth/login-app.ts'
import { addAccounts, bearer } from '../../support/accounts.ts'
import { leadClock, stopClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { until } from '../../support/until.ts'

const NDJSON = 'application/x-ndjson'
const { empty } = await openDatabase(t)

interface Setup extends RestOptions {
  /** Runs when the second batch of a stream is read: the first one is on its way. */
  readonly midway?: () => unknown
  readonly before?: (context: HookContext) => unknown
}

/** Starts a service of 500 tasks for everybody, and one for those that have logged in. */
async function start(t: TestScope, { midway, before, ...options }: Setup) {
  const Model = await empty('tasks')
  await Model.insertMany(Array.from({ length: 500 }, (_none, n) => ({ _id: n as never, n })))
  const server = await startOwnServer(t, options, async (app) => {
    const accounts = addAccounts(app)
    for (const path of ['tasks', 'closed']) {
      app.use(path, new MongoDBService({ Model, limits: { stream: 10_000 } }))
    }
    const hold = async ({ result }: HookContext): Promise<void> => {
      if ((result as unknown as { n: number }[])[0]?.n === 100) await midway?.()
    }
    for (const path of ['tasks', 'closed']) {
      app.service(path).hooks({
        before: {
          find: [...(path === 'closed' ? [authenticate('jwt')] : []), before ?? (() => undefined)],
        },
        after: { find: [hold] },
      })
    }
    for (const id of [1, 2]) await accounts.addUser({ id, email: `${id}@example.org` })
  })
  const { port } = server
  await until(() => server.app.entries.has('closed'))
  /** Opens a stream. Resolves when its answer has begun. */
  const open = async (path: string, headers: object = {}, method = 'GET') => {
    const request = sendRequest({
      ...{ port, path, method, agent: false },
      headers: { accept: NDJSON, ...headers },
    })
    request.on('error', () => undefined).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }
  /** Resolves to all that comes, and whether the answer was whole. */
  const read = async (path: string, headers: object = {}) => {
    const response = await open(path, headers)
    let text = ''
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    response.on('error', () => undefined)
    await new Promise((resolve) => response.on('close', resolve))
    const lines = text.trimEnd().split('\n')
    return { isWhole: response.complete, lines, last: lines.at(-1) ?? '' }
  }
  return { ...server, open, read }
}

t.test('a caller, and all of them, have a limited number of streams of records', async (t) => {
  const gate = new Gate()
  const exports = { max: 3, maxPerCaller: 2 }
  const { open, request, read } = await start(t, { exports, midway: () => gate.pass() })
  const other = bearer(await forge())
  for (const method of ['HEAD', 'HEAD', 'HEAD']) {
    t.equal((await open('/tasks', {}, method)).statusCode, 200)
  }
  // The server may not have noticed yet that the last one has ended.
  for (const count of [1, 2]) {
    await until(async () => (await open('/tasks')).statusCode === 200)
    await gate.arrivals(count)
  }
  const headers = { accept: NDJSON }
  const refused = await request('/tasks', { headers })
  t.match(refused, { status: 429, headers: { 'retry-after': '5' }, body: { code: 429 } })
  t.equal((await open('/closed', other)).statusCode, 200)
  await gate.arrivals(3)
  const full = await request('/closed', { headers: { ...headers, ...other } })
  t.match(full, { status: 503, headers: { 'retry-after': '5' }, body: { code: 503 } })
  t.equal((await request('/tasks')).status, 200, 'what is no stream is answered')
  gate.open()
  await until(async () => (await read('/tasks')).isWhole)
})

t.test('what fails, and what is given up, is not counted any more', async (t) => {
  const { open, port, read } = await start(t, {
    exports: { max: 1 },
    before: ({ params }) => {
      if (params.query?.['n'] === '7') throw new Forbidden('no')
    },
  })
  const isFree = async (): Promise<boolean> => (await read('/tasks')).isWhole
  t.equal((await open('/tasks?n=7')).statusCode, 403)
  t.equal((await open('/tasks?$sort[n]=x')).statusCode, 400)
  t.ok(await isFree())
  ;(await open('/tasks')).destroy()
  await until(isFree)
  // Behind an answer that does not come, so that Node does not say that its connection has gone.
  const socket = connect(port, '127.0.0.1')
  const toGet = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: ${NDJSON}\r\n\r\n`
  socket.write(toGet('/tasks') + toGet('/tasks'))
  await once(socket, 'data')
  socket.destroy()
  await until(isFree)
})

t.test('a stream ends with the token of its caller, and tells so', async (t) => {
  for (const accept of [NDJSON, 'text/csv']) {
    const clock = leadClock(t)
    const gate = new Gate()
    const { read } = await start(t, { midway: () => gate.pass() })
    const headers = { accept, ...bearer(await forge()) }
    const reading = read('/closed?$select[]=n', headers)
    await gate.arrivals(1)
    clock.advance(601_000)
    gate.open()
    const { lines, last, isWhole } = await reading
    t.notOk(isWhole)
    t.ok(lines.length < 300, `${lines.length} lines`)
    if (accept === NDJSON) t.match(last, /^\{"\$error":\{"name":"NotAuthenticated".*expired/)
  }
})

for (const [title, end] of [
  ['its session', { sid: 'one' }],
  ['all sessions of its user', { userId: '1' }],
] as const) {
  t.test(`a stream ends with ${title}, and not with another one`, async (t) => {
    const gate = new Gate()
    const { read, app } = await start(t, { midway: () => gate.pass() })
    const toHeaders = async (claims: Record<string, unknown>) => bearer(await forge({ claims }))
    const ending = read('/closed', await toHeaders({ sid: 'one' }))
    const others = [
      read('/closed', await toHeaders({ sid: 'two', sub: '2' })),
      read('/closed', await toHeaders({})),
    ]
    await gate.arrivals(3)
    app.emit('sessionEnd', end)
    gate.open()
    const { last, isWhole } = await ending
    t.notOk(isWhole)
    t.match(last, /"\$error":\{"name":"NotAuthenticated"/)
    for (const other of others) t.ok((await other).isWhole)
  })
}

t.test('the hooks of find run anew after recheckMs, and at a logout', async (t) => {
  for (const isLogout of [false, true]) {
    const clock = stopClock(t)
    const gate = new Gate()
    let isMember = true
    let calls = 0
    const { read, app } = await start(t, {
      exports: { recheckMs: 1_000 },
      midway: () => gate.pass(),
      before: () => {
        calls += 1
        if (!isMember) throw new Forbidden('You have left')
      },
    })
    const reading = read('/closed', bearer(await forge({ claims: { jti: 'a' } })))
    await gate.arrivals(1)
    isMember = false
    if (isLogout) app.emit('logout', { authentication: { payload: { jti: 'a' } } }, {}, {})
    else clock.advance(1_000)
    gate.open()
    const { last, isWhole } = await reading
    t.notOk(isWhole)
    t.match(last, /"\$error":\{"name":"Forbidden","message":"You have left"/)
    t.equal(calls, 2)
  }
})

t.test('as long as nothing is due the hooks before find run once', async (t) => {
  let calls = 0
  const { read } = await start(t, {
    before: () => {
      calls += 1
    },
  })
  const { isWhole, lines } = await read('/closed', bearer(await forge()))
  t.strictSame([isWhole, lines.length, calls], [true, 500, 1])
})

t.test('options that are not known are refused', async (t) => {
  for (const exports of [{ most: 1 }, { max: -1 }, { recheckMs: 0 }, 5]) {
    t.throws(() => rest({ exports } as never), { name: 'TypeError' })
  }
})
