import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CommandStartedEvent, Document } from 'mongodb'
import t from 'tap'
import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { MongoDBService, softDelete } from '../../../src/adapter/index.ts'
import { protect } from '../../../src/auth/index.ts'
import type {
  AnyService,
  HookContext,
  HookOptions,
  RecordStream,
  StreamableService,
} from '../../../src/core/index.ts'
import { Conflict } from '../../../src/core/index.ts'
import { resolve, resolveExternal, resolveResult, virtual } from '../../../src/core/schema/index.ts'
import type { RestOptions, ServiceOptions } from '../../../src/transport/index.ts'
import { compress, rest } from '../../../src/transport/index.ts'
import { stopTime } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { openApp, startOwnServer } from '../../support/own-server.ts'
import { laterTurns, until } from '../../support/until.ts'

const NDJSON = 'application/x-ndjson'
const { client, db, empty } = await openDatabase(t)

interface Setup {
  readonly count: number
  readonly adapter?: Partial<MongoDBOptions>
  readonly service?: ServiceOptions
  readonly hooks?: HookOptions<AnyService>
  readonly options?: RestOptions
  readonly create?: (options: MongoDBOptions) => AnyService
}

/** Starts a service of numbered tasks. */
async function start(
  t: TestScope,
  { count, adapter, service, hooks, options: served, create }: Setup,
) {
  const Model = await empty('tasks')
  const tasks = Array.from({ length: count }, (_none, n) => ({ _id: n as never, n, secret: 's' }))
  if (count > 0) await Model.insertMany(tasks)
  const options = { Model, limits: { stream: 10_000 }, ...adapter }
  const server = await startOwnServer(t, served, (app) => {
    app.use('tasks', create?.(options) ?? new MongoDBService(options), service)
    if (hooks !== undefined) app.service('tasks').hooks(hooks)
  })
  const read = async (query = '', accept = NDJSON, method = 'GET') => {
    const answer = await server.request(`/tasks${query}`, { method, headers: { accept } })
    const lines = answer.text === '' ? [] : answer.text.trimEnd().split('\n')
    return { ...answer, lines, parse: () => lines.map((line) => JSON.parse(line)) }
  }
  /** Resolves to what has arrived, and whether the answer was whole. */
  const readBroken = (query = '', accept = NDJSON): Promise<{ text: string; isWhole: boolean }> =>
    new Promise((resolve, reject) => {
      const path = `/tasks${query}`
      const request = sendRequest({ port: server.port, path, headers: { accept } }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('error', () => undefined)
        response.on('close', () => resolve({ text, isWhole: response.complete }))
      })
      request.on('error', reject).end()
    })
  return { ...server, read, readBroken, Model }
}

t.test('all records come as lines, without pages', async (t) => {
  const { read } = await start(t, { count: 1_234, adapter: { paginate: { default: 10, max: 20 } } })
  const { status, headers, parse } = await read('?$sort[n]=-1')
  t.equal(status, 200)
  t.match(headers, {
    'content-type': 'application/x-ndjson; charset=utf-8',
    'x-content-type-options': 'nosniff',
    vary: 'accept',
  })
  const records = parse()
  t.equal(records.length, 1_234)
  t.strictSame(records[0], { _id: 1_233, n: 1_233, secret: 's' })
  t.equal((await read('?$limit=7&$skip=1230')).lines.length, 4)
  t.strictSame((await read('?secret=s&$skip=5&$limit=1&$select[]=n')).parse(), [{ _id: 5, n: 5 }])
  t.strictSame((await read('?$limit=0')).lines, [])
  t.strictSame((await read('?n=-1')).lines, [])
})

t.test('a stream is what the Accept header wants more than JSON', async (t) => {
  const { read } = await start(t, { count: 2 })
  for (const accept of [
    NDJSON,
    'Application/X-NDJSON',
    `${NDJSON}, */*;q=0.5`,
    `${NDJSON}, text/csv;q=0.9, application/json;q=0.8`,
  ]) {
    t.match((await read('', accept)).headers, { 'content-type': /^application\/x-ndjson/ }, accept)
  }
  for (const accept of [
    '*/*',
    'application/*',
    `${NDJSON}, application/json`,
    `${NDJSON};q=0.5, */*`,
  ]) {
    const { headers } = await read('', accept)
    t.match(headers, { 'content-type': /^application\/json/, vary: 'accept' }, accept)
  }
  t.match(await read('/1', NDJSON), { status: 404, headers: { 'content-type': /json/ } })
  const { status, headers, text } = await read('', NDJSON, 'HEAD')
  t.match([status, text, headers], [200, '', { 'content-type': /x-ndjson/, vary: 'accept' }])
})

t.test('HTTP/1.0 has no streams: it would not tell a broken answer from its end', async (t) => {
  const { raw } = await start(t, { count: 1 })
  const answer = await raw(`GET /tasks HTTP/1.0\r\nHost: a\r\nAccept: ${NDJSON}\r\n\r\n`)
  t.match(answer, /^HTTP\/1.. 406 [\s\S]*A stream needs HTTP\/1.1/)
})

t.test('a service without streams answers as before', async (t) => {
  const { read } = await start(t, { count: 1, adapter: { limits: {} } })
  for (const accept of [NDJSON, 'text/csv']) {
    const { status, headers } = await read('', accept)
    t.match([status, headers], [406, { vary: 'accept', 'content-type': /json/ }])
    t.match(await read('', `${accept}, */*;q=0.1`), { status: 200, body: [{ n: 0 }] })
  }
})

t.test('refusals come before the answer begins', async (t) => {
  const refuse = (query: string, status: number, setup: Partial<Setup>) =>
    t.test(`${query} ${status}`, async (t) => {
      const { read } = await start(t, { count: 1, ...setup })
      const answer = await read(query)
      t.match(answer, { status, headers: { 'content-type': /^application\/json/ } }, answer.text)
    })
  const session = client.startSession()
  t.teardown(() => session.endSession())
  const hidden = { adapter: { limits: { stream: 5 }, hidden: ['secret'] } }
  await refuse('?n[$regex]=a', 400, {})
  await refuse('?secret=a', 400, hidden)
  await refuse('?$select[]=secret', 400, hidden)
  await refuse('?$limit=-1', 400, {})
  const before = (find: (context: HookContext) => unknown) => ({
    hooks: { before: { find: [find] } },
  })
  await refuse(
    '',
    409,
    before(() => Promise.reject(new Conflict('no'))),
  )
  await refuse(
    '',
    406,
    before((context) => Object.assign(context, { result: [] })),
  )
  await refuse(
    '',
    406,
    before(({ http }) => Object.assign(http, { status: 203 })),
  )
  await refuse(
    '',
    400,
    before(({ params }) => Object.assign(params, { docdb: { session } })),
  )
  await refuse(
    '',
    406,
    before(({ params }) => {
      Object.assign(params, { adapter: { limits: { stream: 0 } } })
    }),
  )
  await refuse('', 406, {
    hooks: { after: { find: [(context) => Object.assign(context, { result: 7 })] } },
  })
  class OwnFind extends MongoDBService {
    override async find(): Promise<never> {
      throw new Error('never called')
    }
  }
  await refuse('', 405, { create: (options) => new OwnFind(options) as unknown as AnyService })
})

t.test('hooks run once, and those that make the result for each batch', async (t) => {
  const ran: Record<string, number> = {}
  const count = (name: string): void => {
    ran[name] = (ran[name] ?? 0) + 1
  }
  const seen: unknown[] = []
  const { read } = await start(t, {
    count: 350,
    adapter: { paginate: { default: 10 } },
    hooks: {
      around: {
        find: async ({ params }, next) => {
          count('around')
          params.query = { ...params.query, n: { $gte: Number(params.query?.['from']) } }
          delete params.query['from']
          await next()
        },
      },
      before: {
        find: (context) => {
          count('before')
          Object.assign(context, { noted: 'yes' })
          Object.assign(context.params, { secret: true })
        },
      },
      after: {
        find: (context) => {
          const { result, params, noted } = context as HookContext & { noted?: string }
          const page = result as unknown as { data: object[]; total: number }
          seen.push([page.total, noted, params.query, (params as { secret?: boolean }).secret])
          page.data = page.data.map((record) => ({ ...record, seen: true }))
        },
      },
    },
  })
  const records = (await read('?from=50')).parse()
  t.equal(records.length, 300)
  t.ok(records.every((record) => record.seen))
  t.strictSame(ran, { around: 3, before: 1 })
  const told = (total: number) => [total, 'yes', { n: { $gte: 50 } }, true]
  t.strictSame(seen, [told(100), told(100), told(100)])
})

t.test('resolvers, hidden fields and schemas treat a record as on a page', async (t) => {
  const result = resolve({ square: virtual(async ({ n }: { n: number }) => n * n) } as never)
  const external = resolve({
    square: async (value: number | undefined) => (value === undefined ? undefined : `${value}!`),
    extra: async () => 'not in the schema',
  } as never)
  const schema = {
    type: 'object',
    properties: {
      _id: { type: 'integer' },
      n: { type: 'integer' },
      square: { type: 'string' },
    },
  }
  const { read, request } = await start(t, {
    count: 250,
    adapter: { limits: { stream: 1_000 }, hidden: ['secret'] },
    service: { schemas: { create: true, result: schema } as never },
    hooks: { around: { all: [resolveExternal(external), resolveResult(result)] as never } },
  })
  for (const query of ['', '?$select[]=square', '?$select[]=n', '?$select[]=n&$select[]=square']) {
    const { body, status } = await request(`/tasks${query}`)
    t.equal(status, 200)
    t.strictSame((await read(query)).parse(), body, query)
  }
  t.strictSame((await read('?n=3')).parse(), [{ _id: 3, n: 3, square: '9!' }])
})

t.test('a pipeline of a hook is part of the stream', async (t) => {
  const pipeline = [{ $match: { n: { $gte: 100 } } }, { $set: { twice: { $multiply: ['$n', 2] } } }]
  const { read } = await start(t, {
    count: 205,
    adapter: { limits: { stream: 105 }, hidden: ['secret'] },
    hooks: { before: { find: [({ params }) => Object.assign(params, { pipeline })] } },
  })
  const records = (await read()).parse()
  t.equal(records.length, 105)
  t.strictSame(records[0], { _id: 100, n: 100, twice: 200 })
})

t.test('rules of hooks hold for all of a stream, and it has no protected fields', async (t) => {
  const { read, Model } = await start(t, {
    count: 300,
    hooks: { before: { all: [softDelete()] }, after: { all: [protect('secret')] } },
  })
  await Model.updateMany({ n: { $lt: 50 } }, { $set: { deletedAt: new Date() } })
  const records = (await read()).parse()
  t.equal(records.length, 250)
  t.ok(records.every(({ n, secret }) => n >= 50 && secret === undefined))
})

t.test('more records than the limit are an error, and not the end', async (t) => {
  const { readBroken, read, logged } = await start(t, {
    count: 301,
    adapter: { limits: { stream: 300 } },
  })
  for (const query of ['', '?$limit=301', '?$limit=9999']) {
    const { text, isWhole } = await readBroken(query)
    t.notOk(isWhole)
    const lines = text.trimEnd().split('\n')
    t.equal(lines.length, 301)
    t.match(JSON.parse(lines.at(-1) ?? ''), {
      $error: { name: 'BadRequest', code: 400, message: /at most 300 records/ },
    })
  }
  t.equal((await read('?$limit=300')).lines.length, 300)
  t.equal((await read('?$skip=1')).lines.length, 300)
  t.strictSame(logged, [])
})

t.test('an error midway is the last line, ends the connection, is logged (STR-2)', async (t) => {
  let left = 3
  const { readBroken, logged } = await start(t, {
    count: 1_000,
    hooks: {
      after: {
        find: () => {
          left -= 1
          if (left === 0) throw new TypeError('a fault of the code')
        },
      },
    },
  })
  const { text, isWhole } = await readBroken()
  t.notOk(isWhole)
  const lines = text.trimEnd().split('\n')
  t.equal(lines.length, 201)
  t.match(JSON.parse(lines.at(-1) ?? ''), {
    $error: { name: 'GeneralError', message: 'Internal error', code: 500 },
  })
  t.match(logged, [{ details: { err: { message: 'a fault of the code' } } }])
  left = 3
  const csv = await readBroken('?$select[]=n', 'text/csv')
  t.notOk(csv.isWhole)
  t.equal(csv.text.split('\r\n').length, 202, 'of CSV, the broken connection alone tells of it')
})

t.test('an error of the database midway is told as well (STR-2)', async (t) => {
  const opened = new Set<unknown>()
  const note = ({ command }: CommandStartedEvent): void => {
    const { getMore } = command as Document
    if (getMore !== undefined) opened.add(getMore)
  }
  client.on('commandStarted', note)
  t.teardown(() => client.off('commandStarted', note))
  const { readBroken, logged } = await start(t, {
    count: 1_000,
    hooks: {
      before: { find: [({ params }) => Object.assign(params, { docdb: { batchSize: 150 } })] },
      after: {
        find: async ({ result }) => {
          const [first] = result as unknown as { n: number }[]
          if (first?.n !== 300) return
          await db.command({ killCursors: 'tasks', cursors: [...opened] })
        },
      },
    },
  })
  const { text, isWhole } = await readBroken()
  t.notOk(isWhole)
  t.match(JSON.parse(text.trimEnd().split('\n').at(-1) ?? ''), {
    $error: { name: 'Unavailable', message: 'The database is not available', code: 503 },
  })
  t.equal(logged.length, 1)
})

/** Records that no buffer between server and client has room for. */
const LARGE = 20_000

/** Opens a stream whose reader reads nothing. */
async function openUnread(t: TestScope) {
  const answers: ServerResponse[] = []
  const setup = { count: 0, adapter: { limits: { stream: LARGE } } }
  const { port, Model, fastify } = await start(t, setup)
  const text = 'x'.repeat(2_000)
  await Model.insertMany(Array.from({ length: LARGE }, (_none, n) => ({ n, text })))
  const commands: string[] = []
  const note = ({ commandName }: CommandStartedEvent): void => void commands.push(commandName)
  client.on('commandStarted', note)
  t.teardown(() => client.off('commandStarted', note))
  fastify.server.on('request', (_request: unknown, answer: ServerResponse) => answers.push(answer))
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sendRequest({ port, path: '/tasks', headers: { accept: NDJSON } }, resolve)
      .on('error', reject)
      .end()
  })
  const fetches = (): number => commands.filter((name) => name === 'getMore').length
  // Until all buffers are full, a write waits as well, for a moment.
  await until(async () => {
    const before = fetches()
    await laterTurns(200)
    return before > 0 && fetches() === before && answers[0]?.writableNeedDrain
  })
  return { response, commands, fetches }
}

t.test('a reader that does not read has the database wait (STR-1)', async (t) => {
  const { response, fetches } = await openUnread(t)
  const before = fetches()
  t.ok(before < LARGE / 500 - 2, `${before} of ${LARGE / 500} batches`)
  let lines = 0
  for await (const chunk of response) lines += String(chunk).split('\n').length - 1
  t.equal(lines, LARGE)
})

t.test('the cursor is closed when the reader leaves (STR-3)', async (t) => {
  const { response, commands, fetches } = await openUnread(t)
  t.notOk(commands.includes('killCursors'))
  response.destroy()
  await until(() => commands.includes('killCursors'))
  const before = fetches()
  await laterTurns()
  t.equal(fetches(), before)
})

const SCHEMA = {
  type: 'object',
  properties: {
    _id: { type: 'integer' },
    n: { type: 'integer' },
    text: { type: 'string' },
    at: { type: 'string' },
    inner: { type: 'object', properties: { a: { type: 'integer' } } },
  },
}

t.test('CSV has the columns of $select, else those of the schema', async (t) => {
  const service = { schemas: { create: true, result: SCHEMA } as never }
  const { read, Model } = await start(t, { count: 1, service })
  const inner = { a: 1, b: 2 }
  const extra = { text: '=1+1', at: new Date(0), inner, unnamed: 'x' }
  await Model.insertOne({ _id: 1 as never, n: -7, ...extra })
  const { headers, text } = await read('?$sort[n]=1', 'text/csv')
  t.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
  const last = `1,-7,'=1+1,1970-01-01T00:00:00.000Z,"{""a"":1}"`
  t.equal(text, ['_id,n,text,at,inner', last, '0,0,,,', ''].join('\r\n'))
  t.equal((await read('?$select[]=n&$select[]=_id&$limit=1', 'text/csv')).text, 'n,_id\r\n0,0\r\n')
  t.equal((await read('?n=99', 'text/csv')).text, '_id,n,text,at,inner\r\n')
})

t.test('CSV without a schema needs $select, also for paths', async (t) => {
  const { read, Model } = await start(t, { count: 0 })
  await Model.insertOne({ _id: 1 as never, a: { b: 2 }, list: [{ c: 1 }, { c: 2 }], '=x': 3 })
  t.match(await read('', 'text/csv'), { status: 400, body: { message: /columns/ } })
  const { text } = await read('?$select[]=a.b&$select[]=list.c&$select[]==x', 'text/csv')
  t.equal(text, `a.b,list.c,'=x\r\n2,"[1,2]",3\r\n`)
})

t.test('a stream of compress() breaks off as well', async (t) => {
  let left = 3
  const after = () => {
    left -= 1
    if (left === 0) throw new Conflict('midway')
  }
  const Model = await empty('tasks')
  await Model.insertMany(Array.from({ length: 500 }, (_none, n) => ({ n })))
  const { port } = await startOwnServer(t, (app) => {
    app.configure(compress())
    app.use('tasks', new MongoDBService({ Model, limits: { stream: 500 } }))
    app.service('tasks').hooks({ after: { find: [after] } })
  })
  const read = async (): Promise<string> => {
    const headers = { accept: 'text/csv', 'accept-encoding': 'gzip' }
    const answer = await fetch(`http://127.0.0.1:${port}/tasks?$select[]=n`, { headers })
    t.equal(answer.headers.get('content-encoding'), 'gzip')
    return answer.text()
  }
  await t.rejects(read())
  t.equal((await read()).split('\r\n').length, 502)
})

t.test('the time limit of a call holds until the stream begins', async (t) => {
  const time = stopTime(t)
  const gate = new Gate()
  let batches = 0
  const { read } = await start(t, {
    count: 150,
    options: { handlerTimeoutMs: 300 },
    hooks: {
      after: {
        find: async () => {
          batches += 1
          if (batches !== 1) await gate.pass()
        },
      },
    },
  })
  const whole = read()
  await gate.arrivals(1)
  time.pass(1_000)
  const late = read()
  await gate.arrivals(2)
  time.pass(1_000)
  t.match(await late, { status: 503 })
  gate.open()
  t.equal((await whole).lines.length, 150)
})

t.test('a stream is cut off when the server closes (SHUT-4)', async (t) => {
  const gate = new Gate()
  const Model = await empty('tasks')
  await Model.insertMany(Array.from({ length: 150 }, (_none, n) => ({ n })))
  const app = openApp(t)
  app.configure(rest())
  app.use('tasks', new MongoDBService({ Model, limits: { stream: 500 } }))
  let batches = 0
  const after = async (): Promise<void> => {
    batches += 1
    if (batches > 1) await gate.pass()
  }
  app.service('tasks').hooks({ after: { find: [after] } })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`
  const answer = (await fetch(url, { headers: { accept: NDJSON } })).text()
  await gate.arrivals(1)
  const closed = app.close()
  await t.rejects(answer)
  gate.open()
  await closed
})

t.test('a service of another kind can have streams as well', async (t) => {
  const opened: unknown[] = []
  const counting: StreamableService = {
    maxStreamed: 5,
    async streamRecords({ query }) {
      opened.push(query)
      async function* count(): RecordStream['batches'] {
        try {
          yield [{ n: 1 }, { n: 2 }]
          yield [{ n: 3 }]
        } finally {
          opened.push('closed')
        }
      }
      return { isPage: false, batches: count() }
    },
  }
  const find = async (): Promise<object[]> => []
  const { read } = await start(t, { count: 0, create: () => ({ ...counting, find }) as never })
  t.strictSame((await read('?a=b')).parse(), [{ n: 1 }, { n: 2 }, { n: 3 }])
  t.strictSame((await read('', NDJSON, 'HEAD')).text, '')
  t.strictSame(opened, [{ a: 'b' }, 'closed', {}, 'closed'])
})
