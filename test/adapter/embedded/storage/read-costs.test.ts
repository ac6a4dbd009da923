import type { Document } from 'bson'
import type { Test } from 'tap'
import t from 'tap'
import { Dispatcher } from '../../../../src/adapter/embedded/dispatch.ts'
import { Changes } from '../../../../src/adapter/embedded/storage/changes.ts'
import { Collection } from '../../../../src/adapter/embedded/storage/collection.ts'
import { select } from '../../../../src/adapter/embedded/storage/select-records.ts'
import { Transaction } from '../../../../src/adapter/embedded/storage/transaction.ts'
import { pluck } from '../../../support/pluck.ts'

/** Counts the documents of collections that are looked at, until the test has ended. */
function countLooks(t: Test): { count: number } {
  const looks = { count: 0 }
  const { get, entries } = Collection.prototype
  Collection.prototype.get = function (key) {
    looks.count += 1
    return get.call(this, key)
  }
  Collection.prototype.entries = function* () {
    for (const entry of entries.call(this)) {
      looks.count += 1
      yield entry
    }
  }
  t.teardown(() => Object.assign(Collection.prototype, { get, entries }))
  return looks
}

const range = (path: string, low: unknown, high: unknown): Document => ({
  [path]: { $gte: low, $lt: high },
})

/** Of a collection with `a` from 0 upwards, the same as `_id`, and `b` as its last digit. */
const READS: readonly (readonly [looks: number, command: Document])[] = [
  [1, { find: 'c', filter: { _id: 5 } }],
  [3, { find: 'c', filter: { _id: { $in: [5, 6, 7] } } }],
  [20, { find: 'c', filter: range('_id', 100, 120) }],
  [1, { find: 'c', filter: { a: 5 } }],
  [3, { find: 'c', filter: { a: { $in: [5, 6, 7, 8.5] } } }],
  [20, { find: 'c', filter: range('a', 100, 120) }],
  [19, { find: 'c', filter: { a: { $gt: 100, $lt: 120 }, x: 1 } }],
  [20, { find: 'c', filter: { $and: [{ x: 1 }, { $and: [range('a', 100, 120)] }] } }],
  [5, { find: 'c', filter: { a: { $lt: 5 } } }],
  [0, { find: 'c', filter: { a: { $gt: 5, $lt: 3 } } }],
  [3, { find: 'c', filter: { a: { $gte: 'text' } } }],
  [0, { find: 'c', filter: { a: { $gt: new Date(0) } } }],
  [0, { find: 'c', filter: { a: { $in: [] } } }],
  // By the index on `b` and `a`.
  [10, { find: 'c', filter: { b: 3, ...range('a', 100, 200) } }],
  [2, { find: 'c', filter: { b: { $in: [3, 4] }, a: { $in: [13, 24] } } }],
  [5, { find: 'c', filter: { b: 3 }, sort: { a: 1 }, limit: 5 }],
  [5, { find: 'c', filter: { b: 3 }, sort: { b: 1, a: -1 }, limit: 5 }],
  [7, { find: 'c', sort: { b: -1, a: 1 }, limit: 5, skip: 2 }],
  // By the indexes on one field.
  [10, { find: 'c', sort: { _id: 1 }, limit: 10 }],
  [10, { find: 'c', sort: { a: -1 }, limit: 10 }],
  [15, { find: 'c', sort: { a: 1 }, skip: 5, limit: 10 }],
  [20, { find: 'c', filter: { _id: { $gt: 100 } }, sort: { _id: 1 }, limit: 20 }],
  [20, { find: 'c', filter: { _id: { $lt: 100 } }, sort: { _id: -1 }, limit: 20 }],
  [5, { find: 'c', filter: range('a', 100, 105), sort: { x: 1 }, limit: 2 }],
  [1, { find: 'c', filter: { b: 3 }, limit: 1 }],
  [20, { count: 'c', query: range('a', 100, 120) }],
  [20, { distinct: 'c', key: 'b', query: range('a', 100, 120) }],
  [1, { update: 'c', updates: [{ q: { a: 5 }, u: { $set: { x: 1 } } }] }],
  [20, { update: 'c', updates: [{ q: range('a', 100, 120), u: { $set: { x: 1 } }, multi: true }] }],
  [1, { findAndModify: 'c', query: { a: 5 }, update: { $set: { x: 1 } } }],
  [1, { findAndModify: 'c', query: range('a', 9, 99), sort: { a: 1 }, update: { $set: { x: 1 } } }],
  [20, { aggregate: 'c', pipeline: [{ $match: range('a', 100, 120) }], cursor: {} }],
  [10, { aggregate: 'c', pipeline: [{ $sort: { a: 1 } }, { $limit: 10 }], cursor: {} }],
  [
    10,
    {
      aggregate: 'c',
      pipeline: [{ $match: { b: 3 } }, { $sort: { a: -1 } }, { $limit: 10 }],
      cursor: {},
    },
  ],
  [3, { aggregate: 'c', pipeline: [{ $limit: 3 }], cursor: {} }],
  [1, { delete: 'c', deletes: [{ q: { a: 7 }, limit: 1 }] }],
  [20, { delete: 'c', deletes: [{ q: range('a', 200, 220), limit: 0 }] }],
]

for (const size of [400, 1_600]) {
  t.test(`of ${size} documents an index leads to those alone that may match:`, async (t) => {
    const dispatcher = new Dispatcher('nowhere')
    t.teardown(() => dispatcher.close())
    const run = async (command: Document): Promise<Document> =>
      await dispatcher.run(() => ({ ...command, $db: 'test' }))
    await run({
      createIndexes: 'c',
      indexes: [
        { key: { a: 1 }, name: 'a' },
        { key: { b: 1, a: -1 }, name: 'b' },
      ],
    })
    const documents = Array.from({ length: size }, (_, a) => ({ _id: a, a, b: a % 10 }))
    const texts = Array.from({ length: 3 }, (_, at) => ({ _id: `${at}`, a: `text${at}` }))
    t.match(await run({ insert: 'c', documents: [...documents, ...texts] }), { n: size + 3 })
    const looks = countLooks(t)
    for (const [expected, command] of READS) {
      looks.count = 0
      t.match(await run(command), { ok: 1 })
      t.equal(looks.count, expected, JSON.stringify(command))
    }
  })
}

t.test('an index that is hidden, or of another collation, leads to nothing', async (t) => {
  const collection = new Collection(
    'test.c',
    {},
    { time: 0, changes: new Changes(), open: new Set(), history: [] },
  )
  const collation = { locale: 'en' }
  collection.addIndex({ v: 2, key: { a: 1 }, name: 'hidden', hidden: true })
  collection.addIndex({ v: 2, key: { a: 1 }, name: 'collated', collation })
  for (let a = 0; a < 10; a += 1) collection.put(collection.keyOf(a), { _id: a, a })
  const looks = countLooks(t)
  const options = { collation: undefined, compileExpression: () => () => undefined }
  select(collection, { a: 5 }, options)
  t.equal(looks.count, 10)
  select(collection, {}, options, { sort: { a: 1 }, limit: 1 })
  t.equal(looks.count, 20)
})

t.test('a transaction looks at its own writes, and by an index at others', async (t) => {
  const clock = { time: 0, changes: new Changes(), open: new Set<Transaction>(), history: [] }
  const collection = new Collection('test.c', {}, clock)
  collection.addIndex({ v: 2, key: { a: 1 }, name: 'a' })
  for (let a = 0; a < 100; a += 1) collection.put(collection.keyOf(a), { _id: a, a })
  const transaction = new Transaction(clock)
  t.teardown(() => transaction.abort())
  // Others take a record out of the range and bring one into it, and so does the transaction.
  collection.put(collection.keyOf(50), { _id: 50, a: 500 })
  collection.put(collection.keyOf(0), { _id: 0, a: 50 })
  const view = transaction.view(collection)
  view.put(collection.keyOf(51), { _id: 51, a: 501 })
  view.put(collection.keyOf(1), { _id: 1, a: 51 })
  view.put(collection.keyOf(100), { _id: 100, a: 52 })
  let looks = 0
  const seen = {
    ...view,
    get: (key: string) => {
      looks += 1
      return view.get(key)
    },
    entries: () => t.fail('nothing else is read'),
  }
  const options = { collation: undefined, compileExpression: () => () => undefined }
  const found = select(seen as never, range('a', 50, 54), options)
  t.strictSame(pluck(found, '_id'), [1, 50, 52, 53, 100])
  t.ok(looks <= 7, `${looks} documents`)
})
