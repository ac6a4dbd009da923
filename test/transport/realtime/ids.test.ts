import type { Document } from 'mongodb'
import { Decimal128, Long, ObjectId, UUID } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { toKey } from '../../../src/transport/realtime/round.ts'
import { openDatabase } from '../../support/database.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection<Document>('things')

const server = await startLiveServer(t, (app) => {
  app.use('things', new MongoDBService({ Model, multi: true }))
})
const things = server.app.service('things')

t.beforeEach(() => empty('things'))

/** Ids that are two records of a collection, and two for clients. */
const DIFFERENT: readonly (readonly [unknown, unknown])[] = [
  [7, '#7'],
  [7, '7'],
  [0.5, '0.5'],
  [Long.fromString('9007199254740993'), '9007199254740993'],
  [Decimal128.fromString('7.5'), '{"$numberDecimal":"7.5"}'],
  [true, 'true'],
  [{ a: 1 }, '{"a":1}'],
  [{ a: 1 }, { a: '1' }],
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ],
  [{ a: '1,"b":2' }, { a: '1', b: 2 }],
  [{ a: [1] }, { a: ['1'] }],
  [{ a: null }, { a: 'null' }],
  [{ a: Number.NaN }, { a: null }],
  [{ a: Long.MAX_VALUE }, { a: String(Long.MAX_VALUE) }],
  ['a"', 'a'],
  ['"a"', 'a'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
]

for (const ids of DIFFERENT) {
  const [one, other] = ids.map((id) => (typeof id === 'string' ? `'${id}'` : toKey(id)))
  t.test(`sends what concerns ${one} and ${other} as events of two records`, async (t) => {
    const stream = await server.open('/things')
    await stream.next()

    await things.create(ids.map((_id) => ({ _id, name: 'new' })) as never)
    t.strictSame(await linesSoFar(stream, things), ['created new', 'created new'])
    await things.patch(null, { name: 'changed' } as never, { query: { name: 'new' } } as never)
    t.strictSame(await linesSoFar(stream, things), ['patched changed', 'patched changed'])
    await things.remove(null, { query: { name: 'changed' } } as never)
    t.strictSame(await linesSoFar(stream, things), ['removed changed', 'removed changed'])
  })
}

t.test('has one key for values that the database, or JSON, takes for the same id', (t) => {
  const id = new ObjectId()
  const uuid = new UUID()
  const same: readonly (readonly [unknown, unknown])[] = [
    [id, id.toHexString()],
    [{ user: id }, { user: id.toHexString() }],
    [new Date(5), new Date(5).toISOString()],
    [uuid, uuid.toHexString()],
    [Long.fromNumber(7), 7],
    [7n, 7],
    [{ a: 7n }, { a: Long.fromNumber(7) }],
    [-0, 0],
    [Buffer.from('abc'), Buffer.from('abc').toString('base64')],
  ]

  for (const [one, other] of same) t.equal(toKey(one), toKey(other))
  t.end()
})
