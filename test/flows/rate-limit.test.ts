import type { Document } from 'mongodb'
import t from 'tap'
import { MongoDBService, transaction } from '../../src/adapter/index.ts'
import type { RateLimitOptions } from '../../src/auth/index.ts'
import {
  AuthenticationService,
  authenticate,
  CollectionThrottleStore,
  JwtStrategy,
  MemoryThrottleStore,
  rateLimit,
} from '../../src/auth/index.ts'
import type { Application, HookContext, Params } from '../../src/transport/index.ts'
import { createApp } from '../../src/transport/index.ts'
import { recheckStreams } from '../../src/transport/realtime/index.ts'
import { openDatabase } from '../support/database.ts'
import type { Answer, ListeningServer, RequestOptions, TestScope } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'
import { SECRET } from '../support/users.ts'
import { startLiveServer } from '../transport/realtime/live-server.ts'

const database = await openDatabase(t)
const { empty } = database

/** So long that no window ends while the tests run. */
const AGE = 3_600 * 24 * 365 * 1_000

const SERVICE = {
  find: async () => [],
  create: async (data: object) => data,
}

interface Setup {
  readonly mode?: (typeof MODES)[number]
  readonly configure?: (app: Application) => unknown
}

function startNotes(
  t: TestScope,
  options: RateLimitOptions,
  { mode = 'standalone', configure }: Setup = {},
): Promise<ListeningServer> {
  return startServer(t, mode, {
    services(app) {
      app.use('notes', SERVICE)
      app
        .service('notes')
        .hooks({ before: { all: [rateLimit({ windowSeconds: AGE, ...options })] } })
      configure?.(app)
    },
    fastify: { trustProxy: true },
  })
}

const from = (address: string): RequestOptions => ({ headers: { 'x-forwarded-for': address } })

/** The limit that an answer tells of. */
function readLimit({ status, headers }: Answer): unknown[] {
  const { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining } = headers
  return [status, limit, remaining]
}

for (const mode of MODES) {
  t.test(`${mode}: an address has so many calls of each method`, async (t) => {
    const { request } = await startNotes(t, { max: 2 }, { mode })
    t.strictSame(readLimit(await request('/notes')), [200, '2', '1'])
    const last = await request('/notes')
    t.strictSame(readLimit(last), [200, '2', '0'])
    t.match(last.headers['ratelimit-reset'], /^[1-9]\d*$/)
    const refused = await request('/notes')
    t.match(refused, {
      status: 429,
      headers: { 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'retry-after': /^[1-9]\d*$/ },
      body: { name: 'TooManyRequests', className: 'too-many-requests', data: { limit: 2 } },
    })
    t.equal(refused.headers['retry-after'], refused.headers['ratelimit-reset'])
    t.strictSame(readLimit(await request('/notes', { data: {} })), [201, '2', '1'])
  })
}

t.test('addresses are counted apart, those of one network of IPv6 together', async (t) => {
  const { request } = await startNotes(t, { max: 1 })
  const ask = async (address: string): Promise<number> =>
    (await request('/notes', from(address))).status
  t.equal(await ask('192.0.2.1'), 200)
  t.equal(await ask('192.0.2.1'), 429)
  t.equal(await ask('::ffff:192.0.2.1'), 429)
  t.equal(await ask('192.0.2.2'), 200)
  t.equal(await ask('2001:db8::1'), 200)
  t.equal(await ask('2001:db8::2'), 429)
  t.equal(await ask('2001:db9::2'), 200)
})

t.test('of 50 calls at once as many pass as may', async (t) => {
  const collection = await empty('limits')
  const store = new CollectionThrottleStore(collection)
  const { request } = await startNotes(t, { max: 7, store })
  const answers = await Promise.all(Array.from({ length: 50 }, () => request('/notes')))
  t.equal(answers.filter(({ status }) => status === 200).length, 7)
  t.equal(answers.filter(({ status }) => status === 429).length, 43)
  const [stored] = await collection.find().toArray()
  t.notMatch(JSON.stringify(stored), '127.0.0.1')
})

t.test('processes with one collection have one count', async (t) => {
  const collection = await empty('limits')
  const start = (): Promise<ListeningServer> =>
    startNotes(t, { max: 3, store: new CollectionThrottleStore(collection) })
  const [one, other] = [await start(), await start()]
  const statuses = []
  for (const { request } of [one, other, one, other]) {
    statuses.push((await request('/notes')).status)
  }
  t.strictSame(statuses, [200, 200, 200, 429])
})

t.test('behind authenticate users are counted, wherever they come from', async (t) => {
  const users = new Map(['ann', 'bob'].map((id) => [id, { id }]))
  const { app, request } = await startServer(t, 'standalone', {
    fastify: { trustProxy: true },
    services(app) {
      const settings = { entity: 'user', service: 'users', authStrategies: ['jwt'], secret: SECRET }
      app.set('authentication', settings)
      app.use('users', { id: 'id', get: async (id: string) => users.get(id) }, { methods: [] })
      const authentication = new AuthenticationService(app)
      app.use('authentication', authentication.register('jwt', new JwtStrategy()))
      app.use('notes', SERVICE)
      const limit = rateLimit({ max: 1, windowSeconds: AGE })
      app.service('notes').hooks({ before: { all: [authenticate('jwt'), limit] } })
    },
  })
  const authentication = app.service('authentication') as unknown as AuthenticationService
  const ask = async (user: string, address: string): Promise<number> => {
    const token = await authentication.createAccessToken({}, { subject: user })
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address }
    return (await request('/notes', { headers })).status
  }
  t.equal(await ask('ann', '192.0.2.1'), 200)
  t.equal(await ask('ann', '192.0.2.2'), 429)
  t.equal(await ask('bob', '192.0.2.1'), 200)
})

t.test('limits of one name have one count, and several limits hold together', async (t) => {
  const store = new MemoryThrottleStore()
  const shared = rateLimit({ max: 3, windowSeconds: AGE, name: 'all', store })
  const { request } = await startNotes(
    t,
    { max: 2, store },
    {
      configure(app) {
        app.use('tags', SERVICE)
        for (const path of ['notes', 'tags']) {
          app.service(path).hooks({ around: { all: [shared] } })
        }
      },
    },
  )
  t.strictSame(readLimit(await request('/notes')), [200, '2', '1'], 'the closest one is told')
  t.strictSame(readLimit(await request('/tags')), [200, '3', '1'])
  t.strictSame(readLimit(await request('/tags')), [200, '3', '0'])
  t.strictSame(readLimit(await request('/notes')), [429, '3', '0'])
})

t.test('a function says who is counted, and who is not', async (t) => {
  const { app, request } = await startNotes(t, {
    max: 1,
    by: ({ headers }) => headers?.['x-tenant'] as string | undefined,
  })
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await request('/notes', { headers })).status
  t.equal(await ask({ 'x-tenant': 'a' }), 200)
  t.equal(await ask({ 'x-tenant': 'a' }), 429)
  t.equal(await ask({ 'x-tenant': 'b' }), 200)
  t.equal(await ask({}), 200)
  t.equal(await ask({}), 200)
  const params = { headers: { 'x-tenant': 'a' } }
  t.strictSame(await app.service('notes').find(params), [], 'internal calls are not counted')
})

t.test('a store of @fastify/rate-limit counts', async (t) => {
  const counts = new Map<string, number>()
  const { request } = await startNotes(t, {
    max: 1,
    store: {
      incr(key, callback) {
        const current = (counts.get(key) ?? 0) + 1
        counts.set(key, current)
        callback(null, { current, ttl: 1_500 })
      },
    },
  })
  t.match(await request('/notes'), { status: 200, headers: { 'ratelimit-reset': '2' } })
  t.match(await request('/notes'), { status: 429, headers: { 'retry-after': '2' } })
  t.equal(counts.size, 1)
})

t.test('a store that fails is 503, and nothing is called', async (t) => {
  const failing: readonly RateLimitOptions['store'][] = [
    { incr: (_key, callback) => callback(new Error('secret detail')) },
    {
      incr() {
        throw new Error('secret detail')
      },
    },
  ]
  for (const store of failing) {
    if (store === undefined) continue
    const { request } = await startNotes(t, { max: 1, store })
    const answer = await request('/notes')
    t.match(answer, { status: 503, body: { name: 'Unavailable' } })
    t.notMatch(answer.text, 'secret')
  }
})

t.test('a transaction that runs again is one call', async (t) => {
  const Model = await empty('counters')
  const counters = new MongoDBService<Document>({ Model })
  const { _id } = await counters.create({ n: 0 })
  let runs = 0
  /** Another call writes to the record, once this transaction has seen it: it has to run again. */
  const interfere = async ({ params }: HookContext): Promise<void> => {
    runs += 1
    if (runs > 1) return
    await counters._get(_id, params)
    await Model.updateOne({ _id }, { $set: { other: true } })
  }
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      app.use('counters', counters)
      app.service('counters').hooks({
        around: { patch: [transaction()] },
        before: { patch: [rateLimit({ max: 2, windowSeconds: AGE }), interfere] },
      })
    },
  })
  const patch = (): Promise<Answer> =>
    request(`/counters/${_id}`, { method: 'PATCH', data: { n: 1 } })
  t.strictSame(readLimit(await patch()), [200, '2', '1'])
  t.equal(runs, 2)
  t.strictSame(readLimit(await patch()), [200, '2', '0'])
  t.equal((await patch()).status, 429)
})

t.test('around, what a schema rejects counts', async (t) => {
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      const body = { type: 'object', properties: { text: { type: 'string' } } } as const
      app.use('notes', SERVICE, { schemas: { create: { ...body, required: ['text'] } } })
      const around = { all: [rateLimit({ max: 3, windowSeconds: AGE })] }
      app.service('notes').hooks({ around } as never)
    },
  })
  const ask = async (data: unknown): Promise<number> => (await request('/notes', { data })).status
  t.strictSame([await ask({}), await ask({ text: 7 }), await ask({ text: {} })], [400, 400, 400])
  t.equal(await ask({ text: 'a' }), 429)
})

for (const group of ['around', 'before'] as const) {
  t.test(`${group}, calls that the server makes for a stream do not count`, async (t) => {
    const server = await startLiveServer(t, (app) => {
      app.use('notes', new MongoDBService<Document>({ Model: database.db.collection('notes') }))
      const limit = rateLimit({ max: 2, windowSeconds: AGE, name: 'notes' })
      const mark = ({ result }: HookContext) => {
        for (const one of [result].flat()) Object.assign(one as object, { seen: true })
      }
      app.service('notes').hooks({ [group]: { all: [limit] }, after: { all: [mark] } } as never)
    })
    const notes = server.app.service('notes')
    const stream = await server.open('/notes')
    t.equal((await stream.next()).event, 'snapshot')
    for (let n = 0; n < 5; n += 1) {
      await notes.create({ n })
      t.match(await stream.next(), { event: 'created', data: { n, seen: true } })
    }
    recheckStreams(notes)
    await notes.create({ n: 5 })
    t.match(await stream.next(), { event: 'created', data: { n: 5 } })
    t.equal((await server.request('/notes', { data: {} })).status, 201, 'the second call')
    t.equal((await server.request('/notes')).status, 429)
    t.match(await server.refusal('/notes'), { status: 429 })
  })
}

t.test('an export is one call, however many batches it has', async (t) => {
  const Model = await empty('exported')
  await Model.insertMany(Array.from({ length: 2_500 }, (_, n) => ({ n })))
  const { request } = await startServer(t, 'standalone', {
    services(app) {
      app.use('exported', new MongoDBService<Document>({ Model, limits: { stream: 5_000 } }))
      app.service('exported').hooks({
        around: { all: [rateLimit({ max: 2, windowSeconds: AGE })] },
        after: { find: [() => undefined] },
      } as never)
    },
  })
  const headers = { accept: 'application/x-ndjson' }
  const first = await request('/exported', { headers })
  t.equal(first.text.trim().split('\n').length, 2_500)
  t.equal((await request('/exported', { headers })).status, 200)
  t.equal((await request('/exported', { headers })).status, 429)
})

t.test('a function may resolve to who is counted', async (t) => {
  const by = async ({ headers }: Params): Promise<string> => String(headers?.['x-tenant'])
  const { request } = await startNotes(t, { max: 1, by })
  const ask = async (tenant: string): Promise<number> =>
    (await request('/notes', { headers: { 'x-tenant': tenant } })).status
  t.strictSame([await ask('a'), await ask('b'), await ask('a')], [200, 200, 429])
  const { request: send } = await startNotes(t, { max: 1, by: () => 7 as never })
  t.match(await send('/notes'), { status: 500 })
})

const WRONG: readonly [object, RegExp][] = [
  [{}, /max/],
  [{ max: 0 }, /max/],
  [{ max: 1.5 }, /max/],
  [{ max: '1' }, /max/],
  [{ max: 1, windowSeconds: 0 }, /windowSeconds/],
  [{ max: 1, by: 'address' }, /by/],
  [{ max: 1, name: '' }, /name/],
  [{ max: 1, store: {} }, /store/],
  [{ max: 1, window: 60 }, /window/],
]

for (const [options, message] of WRONG) {
  t.test(`the options ${JSON.stringify(options)} are refused`, async (t) => {
    t.throws(() => rateLimit(options as RateLimitOptions), { name: 'TypeError', message })
  })
}

t.test('a limit behind the method is refused at the start', async (t) => {
  const app = createApp().use('notes', SERVICE)
  app.service('notes').hooks({ after: { all: [rateLimit({ max: 1 })] } } as never)
  await t.rejects(app.setup(), /rateLimit\(\) in .* runs too late/)
})
