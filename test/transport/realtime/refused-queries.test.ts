import type { Document } from 'mongodb'
import t from 'tap'
import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
let change: (params: MongoDBParams) => unknown = () => undefined

class OwnFind extends MongoDBService {
  override async find(): Promise<never> {
    return [{ secret: true }] as never
  }
}

class OwnHooklessFind extends MongoDBService {
  override async _find(): Promise<never> {
    return [{ secret: true }] as never
  }
}

class OwnRemove extends MongoDBService {
  override remove = (async () => ({ removed: true })) as never
}

const server = await startLiveServer(t, (app) => {
  const operators = ['$regex', '$options', '$where', '$expr', '$all', '$elemMatch', '$size', '$not']
  app.use('tasks', new MongoDBService({ Model, operators: [...operators, '$exists', '$mod'] }))
  app
    .service('tasks')
    .hooks({ before: { find: [({ params }: HookContext) => change(params as never)] } })
  app.use('own', new OwnFind({ Model }))
  app.use('hookless', new OwnHooklessFind({ Model }))
  app.use('removing', new OwnRemove({ Model }))
  app.use('memory', {
    id: 'id',
    events: ['rung'],
    find: async () => [{ id: 1, name: 'one' }],
  } as never)
})

t.beforeEach(() => {
  change = () => undefined
  return empty('tasks')
})

const QUERIES: Readonly<Record<string, RegExp>> = {
  'name[$regex]=a.c': /\$regex that is more than plain text/,
  'name[$regex]=a%2B': /\$regex/,
  'name[$regex]=(a|b)': /\$regex/,
  'name[$regex]=%5B%5Ea%5D': /\$regex/,
  'name[$regex]=a%5Cd': /\$regex/,
  'name[$regex]=a$': /\$regex/,
  'name[$regex]=a&name[$options]=x': /\$regex|options/,
  'name[$not][$regex]=a*': /\$regex/,
  '$or[0][name]=a&$or[1][name][$regex]=b*': /\$regex/,
}

for (const [query, message] of Object.entries(QUERIES)) {
  t.test(`refuses before the stream begins: ${query}`, async (t) => {
    const { status, body } = await server.refusal(`/tasks?${query}`)
    t.equal(status, 400)
    t.match(body, { name: 'BadRequest', message })
  })
}

const PARAMS: Readonly<Record<string, { add: object; message: RegExp }>> = {
  '$where in the query': { add: { query: { $where: 'true' } }, message: /\$where/ },
  '$text in the query': { add: { query: { $text: { $search: 'a' } } }, message: /\$text/ },
  '$expr in the query': { add: { query: { $expr: { $eq: [1, 1] } } }, message: /\$expr/ },
  '$near in the query': { add: { query: { at: { $near: [1, 1] } } }, message: /\$near/ },
  '$jsonSchema in the query': { add: { query: { $jsonSchema: {} } }, message: /\$jsonSchema/ },
  'a RegExp with a quantifier': { add: { query: { name: /a+/ } }, message: /\$regex/ },
  'a RegExp with flags': { add: { query: { name: /a/m } }, message: /\$regex/ },
  'a RegExp within $in': { add: { query: { name: { $in: [/a+/] } } }, message: /\$regex/ },
  'a pipeline': { add: { pipeline: [{ $match: { a: 1 } }] }, message: /params\.pipeline/ },
  'a collation': { add: { docdb: { collation: { locale: 'en' } } }, message: /option collation/ },
  'a projection': { add: { docdb: { projection: { a: 1 } } }, message: /option projection/ },
  'a minimum': { add: { docdb: { min: { _id: 1 } } }, message: /option min/ },
  let: { add: { docdb: { let: { a: 1 } } }, message: /option let/ },
}

for (const [what, { add, message }] of Object.entries(PARAMS)) {
  t.test(`refuses before the stream begins: ${what}, whoever has added it`, async (t) => {
    change = (params) => Object.assign(params, add)
    const { status, body } = await server.refusal('/tasks')
    t.equal(status, 400)
    t.match(body, { name: 'BadRequest', message })
    t.equal(server.hub.size, 0)
  })
}

t.test('a collection that compares by a collation of its own is refused', async (t) => {
  const collated = await db.createCollection('collated', {
    collation: { locale: 'en', strength: 2 },
  })
  t.teardown(() => collated.drop())
  change = (params) => Object.assign(params, { adapter: { Model: collated } })
  const { status, body } = await server.refusal('/tasks?name=A')
  t.equal(status, 400)
  t.match(body, { message: /the collation of the collection/ })
})

t.test('options that change nothing of what is found are allowed', async (t) => {
  change = (params) => Object.assign(params, { docdb: { comment: 'a', maxTimeMS: 1_000 } })
  t.equal((await (await server.open('/tasks')).next()).event, 'snapshot')
})

/** What the service and the stream have to judge alike, of a few records. */
const JUDGED: readonly string[] = [
  'name=a',
  'name[$ne]=a',
  'name[$in][]=a&name[$in][]=b',
  'name[$nin][]=a',
  'name[$gt]=a&name[$lte]=c',
  '$or[0][name]=a&$or[1][name]=c',
  '$and[0][name]=a',
  'name[$regex]=^a',
  'name[$regex]=A&name[$options]=i',
  'name[$not][$regex]=^a',
  'tags=x',
  'tags[$all][]=x&tags[$all][]=y',
  'at.city=Bonn',
  'missing[$exists]=',
]

const RECORDS: readonly Document[] = [
  { name: 'a', tags: ['x'] },
  { name: 'b', tags: ['x', 'y'], at: { city: 'Bonn' } },
  { name: 'c', tags: [], at: [{ city: 'Bonn' }, { city: 'Ulm' }] },
  { name: 'ab', tags: null, missing: 1 },
  { name: ['a', 'z'] },
  { name: null },
  {},
]

for (const query of JUDGED) {
  t.test(`tells of the records that find finds: ${query}`, async (t) => {
    const stream = await server.open(`/tasks?${query}`)
    await stream.next()
    const other = await server.open('/tasks')
    await other.next()
    for (const record of RECORDS) await server.app.service('tasks').create({ ...record } as never)
    await server.app.service('tasks').create({ last: true } as never)
    await other.upTo(({ data }) => data.last === true)
    const { body } = await server.request(`/tasks?${query}`)
    const expected = (body as Document[]).map(({ _id }) => _id)
    const heard = stream.frames.slice(1).map(({ data }) => data._id)
    t.strictSame(heard, expected)
  })
}

t.test('a stream calls the find of a subclass', async (t) => {
  for (const path of ['/own', '/hookless']) {
    const frame = await (await server.open(path)).next()
    t.match(frame, { event: 'snapshot', data: [{ secret: true }] }, path)
  }
  t.equal((await (await server.open('/removing')).next()).event, 'snapshot')
})

t.test('a service that is none of MongoDB is told whole, without conditions', async (t) => {
  const memory = server.app.service('memory')
  const stream = await server.open('/memory?$limit=1&$sort[id]=1')
  t.match(await stream.next(), { event: 'snapshot', data: [{ id: 1 }] })
  memory.emit?.('created', { id: 2, name: 'two' })
  memory.emit?.('patched', { id: 1, name: 'uno' })
  memory.emit?.('patched', { id: 1, name: 'un' })
  memory.emit?.('rung', { id: 1, name: 'bell' })
  memory.emit?.('removed', { id: 2, name: 'two' })
  const lines = toLines(await stream.upTo(({ event }) => event === 'removed'))
  t.strictSame(lines, ['created two', 'patched uno', 'patched un', 'rung bell', 'removed two'])
})

t.test('records with protected forms are told in those', async (t) => {
  const live = await startLiveServer(t, (app) => {
    app.use('notes', {
      id: 'id',
      find: async () => [],
      create: async (data: object) => ({ id: 1, ...data, secret: true }),
    } as never)
    app.service('notes').hooks({
      after: {
        create: [
          (context: HookContext) => {
            const { secret: _secret, ...shown } = context.result as unknown as Document
            context.dispatch = shown as never
          },
        ],
      },
    })
  })
  const stream = await live.open('/notes')
  await stream.next()
  const notes = live.app.service('notes') as unknown as { create(data: object): Promise<unknown> }
  await notes.create({ name: 'a' })
  const frame = await stream.next()
  t.strictSame(frame.data, { id: 1, name: 'a' })
})
