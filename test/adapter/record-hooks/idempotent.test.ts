import type { Document } from 'mongodb'
import { Binary, Decimal128, MongoClient, ObjectId } from 'mongodb'
import t from 'tap'
import {
  audit,
  idempotent,
  MongoDBService,
  timestamps,
  transaction,
} from '../../../src/adapter/index.ts'
import { hashPassword, protect } from '../../../src/auth/index.ts'
import type {
  AnyService,
  AroundHook,
  Hook,
  HookContext,
  HookOptions,
} from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { Gate } from '../../support/gate.ts'
import type { Answer, TestScope } from '../../support/http.ts'
import { startOwnServer } from '../../support/own-server.ts'
import {
  asStandalone,
  DRIVER_COMMANDS,
  failTimes,
  runAll,
  startScriptedServer,
} from '../../support/scripted-server.ts'

/** What happens to commands in the test that runs. */
let script = runAll
let commands: string[] = []
const url = await startScriptedServer(t, (name, command, run) => {
  if (!DRIVER_COMMANDS.has(name)) commands.push(name)
  return script(name, command, run)
})
const client = new MongoClient(url, { replicaSet: 'rs0' })
t.teardown(() => client.close())
const db = client.db('repeated')
const Model = db.collection('notes')
const Store = db.collection('repeats')
const Log = db.collection('log')
const indexes = [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }] as const

type Hooks = HookOptions<AnyService>

t.beforeEach(async () => {
  script = runAll
  await Promise.all([Model, Log, Store].map((one) => one.deleteMany({})))
})

/** Makes a user of the header `user`. */
const logIn: AroundHook = ({ params }, next) => {
  const _id = params.headers?.['user']
  if (_id !== undefined) params.user = { _id } as never
  return next()
}

const ONCE = { around: { all: [logIn, idempotent({ service: 'repeats' })] } }

interface Given {
  readonly key?: string | null
  readonly user?: string | null
  readonly headers?: Record<string, string>
}

/** A server with notes and repeats. `send` sends the key `k` and the user `ann`, unless it is told others. */
async function start(
  t: TestScope,
  hooks: object = ONCE,
  adapter: object = {},
  own: Record<string, object> = {},
) {
  const events: string[] = []
  const { app, request } = await startOwnServer(t, (app) => {
    app.use('notes', new MongoDBService({ Model, multi: true, ...adapter }))
    app.use('teams/:team/notes', new MongoDBService({ Model }))
    app.use('repeats', new MongoDBService({ Model: Store, indexes }), { methods: [] })
    app.use('log', new MongoDBService({ Model: Log }))
    for (const [path, service] of Object.entries(own)) {
      const methods = ['create', 'send'].filter((name) => name in service)
      app.use(path, service as AnyService, { methods })
      app.service(path).hooks(ONCE as Hooks)
    }
    app.service('teams/:team/notes').hooks(ONCE as Hooks)
    app.service('notes').hooks(hooks as Hooks)
    for (const name of ['created', 'updated', 'patched', 'removed']) {
      app.service('notes').on(name, () => events.push(name))
    }
  })
  const send = (
    method: string,
    path: string,
    data?: object,
    given: Given = {},
  ): Promise<Answer> => {
    const { key = 'k', user = 'ann', headers = {} } = given
    return request(path, {
      method,
      ...(data === undefined ? {} : { data }),
      headers: {
        ...(key === null ? {} : { 'idempotency-key': key }),
        ...(user === null ? {} : { user }),
        ...headers,
      },
    })
  }
  return { app, events, send, notes: app.service('notes') }
}

/** What of an answer has to be the same when it is repeated. */
function sameOf({ status, headers, text }: Answer): unknown {
  const { date, 'keep-alive': _, connection: __, ...others } = headers
  return { status, headers: others, text }
}

function equalAnswers(
  t: { strictSame(found: unknown, wanted: unknown): unknown },
  first: Answer,
  second: Answer,
): void {
  t.strictSame(sameOf(second), sameOf(first))
}

t.test('a repeated request gets the same answer, and nothing runs', async (t) => {
  let runs = 0
  const count: Hook = (context) => {
    runs += 1
    context.http.headers = { 'x-run': String(runs) }
    context.http.status = 202
  }
  const { send, events } = await start(t, { ...ONCE, before: { all: [count] } }, { version: 'v' })
  const first = await send('POST', '/notes', { text: 'a' })
  t.match(first, { status: 202, headers: { 'x-run': '1', etag: '"v-1"' } })
  equalAnswers(t, first, await send('POST', '/notes', { text: 'a' }))
  const { _id } = first.body as Document
  for (const [method, data] of [
    ['PATCH', { n: 1 }],
    ['PUT', { n: 2 }],
    ['DELETE', undefined],
  ] as const) {
    const once = await send(method, `/notes/${_id}`, data)
    t.equal(once.status, 202, method)
    equalAnswers(t, once, await send(method, `/notes/${_id}`, data))
  }
  t.equal(runs, 4)
  t.strictSame(events, ['created', 'patched', 'updated', 'removed'])
})

t.test('status, Location and ETag of a repeated create are those of the first', async (t) => {
  const { send } = await start(t, ONCE, { version: 'v' })
  const first = await send('POST', '/notes', { text: 'a' })
  const { _id } = first.body as Document
  t.match(first, { status: 201, headers: { location: `/notes/${_id}`, etag: '"v-1"' } })
  equalAnswers(t, first, await send('POST', '/notes', { text: 'a' }))
  const patched = () =>
    send('PATCH', `/notes/${_id}`, { n: 1 }, { headers: { 'if-match': '"v-1"' } })
  const second = await patched()
  t.match(second, { status: 200, headers: { etag: '"v-2"' } })
  equalAnswers(t, second, await patched())
  const other = await send('PATCH', `/notes/${_id}`, { n: 1 }, { headers: { 'if-match': '"v-2"' } })
  t.equal(other.status, 422, 'another condition is another request')
})

t.test('a write of many records is repeated as one', async (t) => {
  const { send } = await start(t)
  const data = [{ n: 1 }, { n: 2 }]
  equalAnswers(t, await send('POST', '/notes', data), await send('POST', '/notes', data))
  t.equal(await Model.countDocuments(), 2)
  const patch = () => send('PATCH', '/notes?n=1', { n: 3 })
  equalAnswers(t, await patch(), await patch())
})

t.test('a write with a key is two commands more, and a repeat two', async (t) => {
  const { send } = await start(t)
  const commandsOf = async (run: () => Promise<unknown>) => {
    commands = []
    await run()
    return commands
  }
  const create = () => send('POST', '/notes', { text: 'a' })
  t.strictSame(await commandsOf(create), ['update', 'insert', 'update', 'commitTransaction'])
  t.strictSame(await commandsOf(create), ['update', 'abortTransaction', 'find'])
  t.strictSame(await commandsOf(() => send('GET', '/notes')), ['find'])
  const without = () => send('POST', '/notes', { text: 'a' }, { key: null })
  t.strictSame(await commandsOf(without), ['insert'])
})

t.test('of 50 requests at once with one key, one runs (IDEM-1)', async (t) => {
  const gate = new Gate()
  const wait: Hook = async () => gate.pass()
  const { send, events } = await start(t, { ...ONCE, before: { create: [wait] } })
  const first = send('POST', '/notes', { text: 'a' })
  await gate.arrivals(1)
  const others = Array.from({ length: 49 }, () => send('POST', '/notes', { text: 'a' }))
  for (const answer of await Promise.all(others)) {
    t.match(answer, { status: 409, headers: { 'retry-after': '1' }, body: { name: 'Conflict' } })
  }
  gate.open()
  const answer = await first
  t.equal(answer.status, 201)
  const repeats = Array.from({ length: 50 }, () => send('POST', '/notes', { text: 'a' }))
  for (const repeat of await Promise.all(repeats)) equalAnswers(t, answer, repeat)
  t.equal(await Model.countDocuments(), 1)
  t.equal(gate.arrived, 1)
  t.strictSame(events, ['created'])
})

t.test('of 50 requests that nobody holds back, each gets the same or a 409 (IDEM-1)', async (t) => {
  const { send } = await start(t)
  const all = Array.from({ length: 50 }, () => send('POST', '/notes', { text: 'a' }))
  const answers = await Promise.all(all)
  const good = answers.filter(({ status }) => status === 201)
  t.ok(good.length > 0)
  t.equal(answers.filter(({ status }) => status === 409).length, 50 - good.length)
  t.equal(new Set(good.map(({ text }) => text)).size, 1)
  t.equal(await Model.countDocuments(), 1)
})

t.test('a key with other data or another query is answered with 422 (IDEM-2)', async (t) => {
  const { send } = await start(t)
  await send('POST', '/notes', { text: 'a' })
  const other = await send('POST', '/notes', { text: 'b' })
  t.match(other, { status: 422, body: { name: 'Unprocessable' } })
  t.equal((await send('POST', '/notes?$select[]=n', { text: 'a' })).status, 422)
  t.equal(await Model.countDocuments(), 1)
})

t.test('a key of another user, path, method or id is another key (IDEM-2)', async (t) => {
  const { send } = await start(t, ONCE, {}, { mails: { send: async () => ({ sent: true }) } })
  const ids = new Set<unknown>()
  for (const [path, user] of [
    ['/notes', 'ann'],
    ['/notes', 'ben'],
    ['/teams/a/notes', 'ann'],
    ['/teams/b/notes', 'ann'],
  ] as const) {
    const { status, body } = await send('POST', path, { text: 'a' }, { user })
    t.equal(status, 201)
    ids.add((body as Document)['_id'])
  }
  t.equal(ids.size, 4)
  for (const id of ids) t.match(await send('PATCH', `/notes/${id}`, { text: 'b' }), { status: 200 })
  for (const id of ids) t.match(await send('DELETE', `/notes/${id}`), { status: 200 })
})

t.test('a header that is no key is answered with 400 (IDEM-2)', async (t) => {
  const { send } = await start(t)
  const rows = ['', '""', '"', '"a', 'a"', 'a b', 'a, b', '"a", "b"', 'ü', '\\', 'a'.repeat(256)]
  for (const key of rows) {
    t.match(
      await send('POST', '/notes', {}, { key }),
      { status: 400, body: { name: 'BadRequest' } },
      key,
    )
  }
  t.equal(await Model.countDocuments(), 0)
  for (const key of [
    'a'.repeat(255),
    `"${'b'.repeat(255)}"`,
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
    '!~[]:;',
  ]) {
    t.equal((await send('POST', '/notes', {}, { key })).status, 201, key)
  }
  const first = await send('POST', '/notes', { n: 1 }, { key: '"quoted"' })
  equalAnswers(t, first, await send('POST', '/notes', { n: 1 }, { key: 'quoted' }))
})

t.test('a key that has expired is new, though still in the database (IDEM-2)', async (t) => {
  const { send } = await start(t)
  await send('POST', '/notes', { text: 'a' })
  await Store.updateMany({}, { $set: { expiresAt: new Date(0) } })
  const second = await send('POST', '/notes', { text: 'other' })
  t.equal(second.status, 201)
  equalAnswers(t, second, await send('POST', '/notes', { text: 'other' }))
  t.equal(await Store.countDocuments(), 1)
})

t.test('the clock of the database says when a key expires, not that of a process', async (t) => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const { send } = await start(t)
  for (const [index, [first, second]] of [
    [0, 2],
    [0, -2],
    [2, 0],
    [-2, 0],
  ].entries()) {
    const createAt = (days = 0) => {
      Date.now = () => now() + days * 86_400_000
      return send('POST', '/notes', { text: 'a' }, { key: `k${index}` })
    }
    equalAnswers(t, await createAt(first), await createAt(second))
  }
  t.equal(await Model.countDocuments(), 4)
})

t.test('an answer that has expired is not sent while its key is taken anew', async (t) => {
  const gate = new Gate()
  const wait: Hook = async ({ data }) => {
    if ((data as Document)['text'] === 'second') await gate.pass()
  }
  const { send } = await start(t, { ...ONCE, before: { create: [wait] } })
  await send('POST', '/notes', { text: 'first' })
  await Store.updateMany({}, { $set: { expiresAt: new Date(0) } })
  const second = send('POST', '/notes', { text: 'second' })
  await gate.arrivals(1)
  t.match(await send('POST', '/notes', { text: 'first' }), {
    status: 409,
    headers: { 'retry-after': '1' },
  })
  gate.open()
  t.equal((await second).status, 201)
  t.equal(await Model.countDocuments(), 2)
})

t.test('a key expires after the seconds of the option', async (t) => {
  const expiries: number[] = []
  for (const expireAfterSeconds of [60, 3_660]) {
    const once = idempotent({ service: 'repeats', expireAfterSeconds })
    const { send } = await start(t, { around: { all: [logIn, once] } })
    const { body } = await send('POST', '/notes', {}, { key: `k${expireAfterSeconds}` })
    const [stored] = await Store.find({}, { sort: { expiresAt: -1 } }).toArray()
    const createdAt = new ObjectId((body as Document)['_id']).getTimestamp()
    // An ObjectId has whole seconds.
    t.ok(stored?.['expiresAt'] - createdAt.getTime() <= (expireAfterSeconds + 1) * 1_000)
    expiries.push(stored?.['expiresAt'].getTime())
  }
  const [first = 0, second = 0] = expiries
  t.ok(second - first >= 3_600_000)
})

t.test('an unknown caller can send no key, unless the option by tells callers apart', async (t) => {
  const { send } = await start(t)
  t.match(await send('POST', '/notes', {}, { user: null }), { status: 401 })
  t.equal((await send('POST', '/notes', {}, { user: null, key: null })).status, 201)
  const by = async ({ headers }: HookContext['params']) => headers?.['x-device']
  const other = await start(t, { around: { all: [idempotent({ service: 'repeats', by })] } })
  const sendBy = (device: string) =>
    other.send('POST', '/notes', { text: 'a' }, { user: null, headers: { 'x-device': device } })
  const first = await sendBy('one')
  equalAnswers(t, first, await sendBy('one'))
  t.not((await sendBy('two')).text, first.text)
})

t.test('an API key, and a token without a user, are callers of their own', async (t) => {
  const prove: AroundHook = ({ params }, next) => {
    const payload = JSON.parse(String(params.headers?.['x-payload']))
    params.authentication = { strategy: 'any', payload }
    return next()
  }
  const { send } = await start(t, { around: { all: [prove, idempotent({ service: 'repeats' })] } })
  const texts = new Set<string>()
  for (const payload of [
    { sub: 'a' },
    { sub: 'a', keyId: '1' },
    { sub: 'a', keyId: '2' },
    { keyId: '2' },
  ]) {
    const headers = { 'x-payload': JSON.stringify(payload) }
    const create = () => send('POST', '/notes', {}, { user: null, headers })
    const first = await create()
    equalAnswers(t, first, await create())
    texts.add(first.text)
  }
  t.equal(texts.size, 4)
})

t.test('a required key that is missing gives 400, to external callers only', async (t) => {
  const around = { all: [logIn, idempotent({ service: 'repeats', required: true })] }
  const { send, notes } = await start(t, { around })
  t.match(await send('POST', '/notes', {}, { key: null }), {
    status: 400,
    body: { message: /required/ },
  })
  t.equal((await send('GET', '/notes', undefined, { key: null })).status, 200)
  t.ok(await notes.create({}))
  t.ok(await notes.create({}, { headers: { 'idempotency-key': 'k' } }))
  t.equal(await Store.countDocuments(), 0)
})

t.test('a write that fails leaves no key: the repeat runs', async (t) => {
  let fails = true
  const fail: Hook = () => {
    if (fails) throw new Error('The bank is closed')
  }
  const { send } = await start(t, { ...ONCE, after: { create: [fail] } })
  t.equal((await send('POST', '/notes', { text: 'a' })).status, 500)
  t.strictSame([await Model.countDocuments(), await Store.countDocuments()], [0, 0])
  fails = false
  t.equal((await send('POST', '/notes', { text: 'b' })).status, 201)
  t.equal(await Model.countDocuments(), 1)
})

t.test('where the answer to the commit is lost, the repeat is the answer (IDEM-3)', async (t) => {
  const { send } = await start(t)
  let losses = 0
  script = async (name, _command, run) => {
    const reply = await run()
    if (name !== 'commitTransaction' || losses > 0) return reply
    losses += 1
    throw new Error('The connection breaks')
  }
  const first = await send('POST', '/notes', { text: 'a' })
  t.equal(losses, 1)
  equalAnswers(t, first, await send('POST', '/notes', { text: 'a' }))
  t.equal(await Model.countDocuments(), 1)
})

t.test('a transaction that the database repeats stores one answer', async (t) => {
  const { send, events } = await start(t)
  const errorLabels = ['TransientTransactionError']
  const conflict = { code: 112, errmsg: 'WriteConflict', errorLabels }
  const aborted = { code: 251, errmsg: 'NoSuchTransaction', errorLabels }
  for (const [index, fail] of [
    failTimes(2, 'insert', conflict),
    failTimes(2, 'commitTransaction', aborted),
  ].entries()) {
    script = fail
    const key = `k${index}`
    const first = await send('POST', '/notes', { text: 'a' }, { key })
    t.equal(first.status, 201)
    equalAnswers(t, first, await send('POST', '/notes', { text: 'a' }, { key }))
  }
  t.equal(await Model.countDocuments(), 2)
  t.equal(events.length, 2)
})

t.test('a server without transactions is refused, and nothing is written', async (t) => {
  const { send } = await start(t)
  script = asStandalone()
  t.match(await send('POST', '/notes', { text: 'a' }), {
    status: 501,
    body: { message: 'Transactions need a replica set or a sharded cluster' },
  })
  script = runAll
  t.equal(await Model.countDocuments(), 0)
})

t.test('what the database refuses of the store is an error of the call', async (t) => {
  const { send } = await start(t)
  script = failTimes(1, 'update', { code: 13, errmsg: 'not authorized' })
  t.match(await send('POST', '/notes', { text: 'a' }), {
    status: 500,
    body: { message: 'Internal error' },
  })
  t.equal((await send('POST', '/notes', { text: 'a' })).status, 201)
})

t.test('no secret is stored: protected, hashed and hidden fields', async (t) => {
  const secrets = {
    // Of a method that is not called: nothing is hashed here.
    before: { remove: [hashPassword('password')] },
    after: { all: [protect('pin')] },
  }
  for (const around of [
    ONCE.around,
    { all: [logIn], create: [idempotent({ service: 'repeats' })] },
  ]) {
    await Store.deleteMany({})
    const { send } = await start(t, { around, ...secrets }, { hidden: ['token'] })
    // What a list `data` has is no page in results of `create`.
    const items = { data: [{ pin: 'secret pin' }] }
    const data = { password: 'secret', pin: 'secret pin', name: 'Ann', ...items }
    const first = await send('POST', '/notes', data)
    t.equal(first.status, 201)
    const second = await send('POST', '/notes', data)
    t.notMatch(second.text, /secret/)
    t.match(second.body, { name: 'Ann', _id: (first.body as Document)['_id'] })
    const [stored] = await Store.find().toArray()
    const { answer, ...others } = stored as Document
    t.notMatch(String(answer.value()), /secret/)
    t.strictSame(Object.keys(others).sort(), ['_id', 'expiresAt', 'fingerprint'])
    t.notMatch(JSON.stringify(others), /ann|"k"/, 'neither the key nor the caller')
  }
})

t.test('cookies are not stored, other headers are', async (t) => {
  const set: Hook = (context) => {
    context.http.headers = { 'Set-Cookie': 'sid=secret', 'x-a': '1' }
    context.http.location = '/elsewhere'
  }
  const { send } = await start(t, { ...ONCE, after: { create: [set] } })
  t.match(await send('POST', '/notes', {}), {
    status: 303,
    headers: { 'set-cookie': ['sid=secret'] },
  })
  const repeated = await send('POST', '/notes', {})
  t.match(repeated, { status: 303, headers: { 'x-a': '1', location: '/elsewhere' } })
  t.notOk(repeated.headers['set-cookie'])
})

t.test('hooks outside run again, on a result with the types of the database', async (t) => {
  const seen: unknown[] = []
  const look: AroundHook = async (context, next) => {
    await next()
    seen.push((context.result as Document)['createdAt'], (context.result as Document)['_id'])
    context.http.headers = { ...context.http.headers, 'x-seen': String(seen.length) }
  }
  const around = { all: [look, logIn, idempotent({ service: 'repeats' })] }
  const { send } = await start(t, { around, before: { create: [timestamps()] } })
  const first = await send('POST', '/notes', { text: 'a' })
  const second = await send('POST', '/notes', { text: 'a' })
  t.equal(second.headers['x-seen'], '4')
  t.strictSame(second.body, first.body)
  t.ok(seen[2] instanceof Date)
  t.strictSame(seen.slice(2), seen.slice(0, 2))
})

t.test('any result that has JSON is repeated with the same JSON', async (t) => {
  class Money {
    readonly cents = 5
    toJSON() {
      return { amount: '0.05', at: new Date(0) }
    }
  }
  const values: readonly unknown[] = [
    ...[null, undefined, 0, -1.5, 2 ** 53, '', 'text', true, [], {}, [1, [null, undefined]]],
    { date: new Date(5), amount: new Decimal128('1.50'), bytes: new Binary(Buffer.from('ab')) },
    {
      own: new Money(),
      buffer: Buffer.from('ab'),
      array: new Uint8Array([1]),
      map: new Map([[1, 2]]),
    },
    { $inc: { 'a.b': 1 }, __proto__: null, undefined: undefined, function: () => 1, regexp: /a/ },
    JSON.parse('{"__proto__":1,"constructor":{"prototype":2},"data":[{"a":1}]}'),
  ]
  const service = { create: async ({ index }: { index: number }) => values[index] }
  const { send } = await start(t, ONCE, {}, { values: service })
  for (const index of values.keys()) {
    const create = () => send('POST', '/values', { index }, { key: `k${index}` })
    const first = await create()
    t.ok(first.status < 300, first.text)
    equalAnswers(t, first, await create())
  }
})

const TOO_LARGE = {
  status: 409,
  body: {
    name: 'Conflict',
    message: /succeeded, but its response was too large to be stored/,
    data: { isDone: true },
  },
}

t.test('a result that cannot be stored is rejected, and nothing is written', async (t) => {
  const results: Record<string, () => unknown> = {
    bytes: () => Buffer.from('ab'),
    stream: () => new Response('text').body,
    forged: () => JSON.parse('{"_bsontype":"ObjectId"}'),
  }
  const { notes, send } = await start(
    t,
    ONCE,
    {},
    createResults(() => notes, results),
  )
  const statuses: Record<string, number> = {}
  for (const name of Object.keys(results)) {
    statuses[name] = (await send('POST', '/results', { name }, { key: name })).status
  }
  t.strictSame(statuses, { bytes: 500, stream: 500, forged: 400 })
  t.strictSame([await Model.countDocuments(), await Store.countDocuments()], [0, 0])
})

t.test('a request with a large answer runs once, and its repeat returns 409', async (t) => {
  const results: Record<string, () => unknown> = {
    small: () => ({ text: 'a'.repeat(65_000) }),
    large: () => ({ text: 'a'.repeat(65_536) }),
    largest: () => ({ text: 'a'.repeat(18_000_000) }),
    list: () => Array.from({ length: 200 }, () => ({ text: 'a'.repeat(400) })),
    wide: () => ({ text: '\u{1F600}'.repeat(20_000) }),
  }
  const { notes, send } = await start(
    t,
    ONCE,
    {},
    createResults(() => notes, results),
  )
  for (const name of Object.keys(results)) {
    const create = () => send('POST', '/results', { name }, { key: name })
    const first = await create()
    t.equal(first.status, 201, name)
    const second = await create()
    if (name === 'small') equalAnswers(t, first, second)
    else t.match(second, TOO_LARGE, name)
    t.notOk(name !== 'small' && second.headers['retry-after'], 'clients do not send it again')
    t.equal((await send('POST', '/results', { name, n: 1 }, { key: name })).status, 422)
  }
  t.equal(await Model.countDocuments(), 5)
  const stored = await Store.find().toArray()
  t.ok(stored.every(({ answer }) => answer === undefined || answer.length() <= 65_536))
})

t.test('small patches of a large record store no large answers', async (t) => {
  const { send } = await start(t)
  const { insertedId } = await Model.insertOne({ text: 'a'.repeat(1_000_000) })
  const patchAll = () => send('PATCH', '/notes?text[$ne]=b', { n: 1 }, { key: 'many' })
  for (const run of [() => send('PATCH', `/notes/${insertedId}`, { n: 1 }), patchAll]) {
    t.equal((await run()).status, 200)
    t.match(await run(), TOO_LARGE)
  }
  const selected = () =>
    send('PATCH', `/notes/${insertedId}?$select[]=n`, { n: 2 }, { key: 'selected' })
  equalAnswers(t, await selected(), await selected())
})

t.test('large answers of one caller are stored up to a number of keys', async (t) => {
  const around = { all: [logIn, idempotent({ service: 'repeats', maxAnswers: 2 })] }
  const { send } = await start(t, { around })
  const large = { text: 'a'.repeat(1_000) }
  const create = (key: string, data: object, user = 'ann') =>
    send('POST', '/notes', data, { key, user })
  for (const key of ['a', 'b']) {
    equalAnswers(t, await create(key, large), await create(key, large))
  }
  t.equal((await create('c', large)).status, 201)
  t.match(await create('c', large), TOO_LARGE)
  const small = { text: 'a' }
  equalAnswers(t, await create('d', small), await create('d', small))
  equalAnswers(t, await create('a', large, 'ben'), await create('a', large, 'ben'))
  t.equal(await Model.countDocuments(), 5)
})

interface NoteAdder {
  create(data: object): Promise<unknown>
}

/** Returns a service that adds a note for each call, and resolves to the result of a name. */
function createResults(readNotes: () => NoteAdder, results: Record<string, () => unknown>) {
  return {
    results: {
      async create({ name }: { name: string }) {
        await readNotes().create({ name })
        return results[name]?.()
      },
    },
  }
}

t.test('data of any JSON has a fingerprint', async (t) => {
  const { send } = await start(t, ONCE, {}, { values: { create: async () => ({ ok: true }) } })
  const rows = ['{"_bsontype":"ObjectId"}', '{"toJSON":"a"}', '[]', '{"$oid":1}']
  for (const [index, body] of rows.entries()) {
    const create = (text: string) => send('POST', '/values', JSON.parse(text), { key: `k${index}` })
    t.equal((await create(body)).status, 201, body)
    t.equal((await create(body)).status, 201, body)
    t.equal((await create('{"other":1}')).status, 422, body)
  }
})

t.test('a custom method of a service of its own runs once, with what it writes', async (t) => {
  const mails = {
    async send({ text }: { text: string }) {
      await notes.create({ text })
      await notes.create({ text })
      return { sent: true }
    },
  }
  const { send, notes } = await start(t, ONCE, {}, { mails })
  const headers = { 'x-service-method': 'send' }
  const first = await send('POST', '/mails', { text: 'a' }, { headers })
  t.match(first, { status: 200, body: { sent: true } })
  equalAnswers(t, first, await send('POST', '/mails', { text: 'a' }, { headers }))
  t.equal(await Model.countDocuments(), 2)
})

t.test('a call inside of another one is a part of it, also with its params', async (t) => {
  const batches = {
    async create({ texts }: { texts: string[] }, params: object) {
      for (const text of texts) await notes.create({ text }, params)
      return { count: texts.length }
    },
  }
  const { app, send, notes } = await start(t, ONCE, {}, { batches })
  const create = () => send('POST', '/batches', { texts: ['a', 'b'] })
  equalAnswers(t, await create(), await create())
  t.equal(await Model.countDocuments(), 2)
  const params = { provider: 'rest', user: { _id: 'ann' }, headers: { 'idempotency-key': 'k' } }
  await transaction(app, async () => {
    await notes.create({ text: 'c' }, params as never)
    await notes.create({ text: 'd' }, params as never)
  })
  t.equal(await Model.countDocuments(), 4)
})

t.test('audit inside has one entry; what has to stand inside is refused outside', async (t) => {
  const once = idempotent({ service: 'repeats' })
  const { send } = await start(t, {
    around: { all: [logIn, once, audit({ service: 'log' })] },
  })
  await send('POST', '/notes', { text: 'a' })
  await send('POST', '/notes', { text: 'a' })
  t.equal(await Log.countDocuments(), 1)
  for (const outer of [transaction(), audit({ service: 'log' }), once]) {
    const { notes } = await start(t, { around: { all: [logIn, outer, once] } })
    const params = { provider: 'rest', headers: { user: 'ann', 'idempotency-key': 'other' } }
    await t.rejects(notes.create({}, params as never), {
      name: 'TypeError',
      message: /must be registered once, and before transaction\(\)/,
    })
  }
})

t.test('mistakes are refused when the application starts', async (t) => {
  t.throws(() => idempotent({} as never), /needs the option 'service'/)
  t.throws(() => idempotent({ service: 'a', expiresIn: '1d' } as never), /expiresIn/)
  t.throws(() => idempotent({ service: 'a', expireAfterSeconds: 0 }), /from 1 to/)
  t.throws(() => idempotent({ service: 'a', maxAnswerBytes: 16_000_001 }), /from 1 to 16000000/)
  t.throws(() => idempotent({ service: 'a', maxAnswers: 0 }), /maxAnswers/)
  const rows: readonly [RegExp, object | null, string[]?][] = [
    [/there is no service 'repeats'/, null],
    [/needs a service of remex\/mongodb/, { get: async () => ({}) }, ['get']],
    [/must offer no method/, new MongoDBService({ Model: Store, indexes }), ['get']],
    [/needs the index/, new MongoDBService({ Model: Store }), []],
    [
      /needs the index/,
      new MongoDBService({ Model: Log, indexes: [{ key: { expiresAt: 1 } }] }),
      [],
    ],
  ]
  for (const [message, service, methods = []] of rows) {
    const app = createApp()
    app.use('notes', new MongoDBService({ Model }) as never)
    app.service('notes').hooks(ONCE as never)
    if (service !== null) app.use('repeats', service as never, { methods })
    await t.rejects(app.setup(), { name: 'TypeError', message })
  }
  const own = createApp()
  own.use('repeats', new MongoDBService({ Model: Store, indexes }) as never, { methods: [] })
  own.service('repeats').hooks(ONCE as never)
  await t.rejects(own.setup(), /cannot store what its own calls write/)
  const all = createApp().hooks(ONCE as never)
  await t.rejects(all.setup(), /needs a service/)
})

t.test('a store of another client is refused in calls', async (t) => {
  const other = new MongoClient(url, { replicaSet: 'rs0' })
  t.teardown(() => other.close())
  const { notes } = await start(t, ONCE, { Model: other.db('repeated').collection('notes') })
  const params = { provider: 'rest', headers: { 'idempotency-key': 'k' } }
  await t.rejects(notes.create({}, params as never), /must be of the same client/)
})
