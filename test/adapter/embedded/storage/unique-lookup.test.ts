import type { Document } from 'bson'
import fc from 'fast-check'
import t from 'tap'
import { createCollation } from '../../../../src/adapter/embedded/protocol/collation-option.ts'
import { Changes } from '../../../../src/adapter/embedded/storage/changes.ts'
import type { Clock, View } from '../../../../src/adapter/embedded/storage/collection.ts'
import { Collection, LockedError } from '../../../../src/adapter/embedded/storage/collection.ts'
import { IndexKeys } from '../../../../src/adapter/embedded/storage/index-keys.ts'
import { select } from '../../../../src/adapter/embedded/storage/select-records.ts'
import { Transaction } from '../../../../src/adapter/embedded/storage/transaction.ts'
import {
  applyUpdates,
  insertDocument,
} from '../../../../src/adapter/embedded/storage/write-records.ts'
import { CommandError } from '../../../../src/adapter/matching/command-error.ts'
import { keyOf } from '../../../../src/adapter/matching/compare.ts'
import { scalar, value } from './arbitraries.ts'

/** Returns an empty collection, with indexes on `a` and others by their options. */
function createCollection(clock: Clock, ...indexes: readonly Document[]): Collection {
  const collection = new Collection('test.c', {}, clock)
  for (const [number, options] of indexes.entries()) {
    collection.addIndex({ v: 2, key: { a: 1 }, name: `i${number}`, ...options })
  }
  return collection
}

const createClock = (): Clock => ({
  time: 0,
  changes: new Changes(),
  open: new Set(),
  history: [],
})

function find(view: View, filter: Document, collation?: Document): Document[] {
  const options = {
    collation: createCollation(collation),
    compileExpression: () => () => undefined,
  }
  return select(view, filter, options)
}

/** Returns how often the keys of a document are worked out during some work. */
function countKeys(work: () => void): number {
  const { keysOf } = IndexKeys.prototype
  let count = 0
  IndexKeys.prototype.keysOf = function (document) {
    count += 1
    return keysOf.call(this, document)
  }
  try {
    work()
  } finally {
    IndexKeys.prototype.keysOf = keysOf
  }
  return count
}

t.test('the work for a unique index grows with the writes, not with their square:', async (t) => {
  const works: Readonly<Record<string, (size: number) => () => void>> = {
    'records that one transaction makes': (size) => {
      const clock = createClock()
      const collection = createCollection(clock, { unique: true })
      return () => {
        const transaction = new Transaction(clock)
        const view = transaction.view(collection)
        for (let a = 0; a < size; a += 1) insertDocument(view, { _id: a, a })
        transaction.commit()
      }
    },
    'records that one transaction changes': (size) => {
      const clock = createClock()
      const collection = createCollection(clock, { unique: true })
      for (let a = 0; a < size; a += 1) insertDocument(collection, { _id: a, a })
      return () => {
        const transaction = new Transaction(clock)
        const view = transaction.view(collection)
        const updates = Array.from(view.entries(), ([key, before]) => {
          return { key, before, after: { ...before, b: 1 } }
        })
        applyUpdates(view, updates)
        transaction.abort()
      }
    },
    'commands of one transaction, when others have changed as many records': (size) => {
      const clock = createClock()
      const collection = createCollection(clock, { unique: true })
      for (let a = 0; a < size; a += 1) insertDocument(collection, { _id: a, a })
      const transaction = new Transaction(clock)
      return () => {
        for (const [key, before] of [...collection.entries()])
          collection.put(key, { ...before, b: 1 })
        for (let a = 0; a < size; a += 1) find(transaction.view(collection), { a })
        transaction.abort()
      }
    },
    'records that are made while a transaction has made as many': (size) => {
      const clock = createClock()
      const collection = createCollection(clock, { unique: true })
      const transaction = new Transaction(clock)
      const view = transaction.view(collection)
      for (let a = 0; a < size; a += 1) insertDocument(view, { _id: a, a })
      return () => {
        for (let a = size; a < 2 * size; a += 1) insertDocument(collection, { _id: a, a })
        transaction.abort()
      }
    },
  }
  for (const [title, prepare] of Object.entries(works)) {
    const [few, many] = [countKeys(prepare(100)), countKeys(prepare(400))]
    t.ok(many < 5 * few, `${title}: ${few}, ${many} for four times as many`)
  }
})

t.test('what a filter says is equal to a field with a unique index is looked up:', async (t) => {
  const clock = createClock()
  const collection = createCollection(
    clock,
    { unique: true },
    { key: JSON.parse('{"__proto__": 1}'), unique: true, sparse: true },
  )
  for (let a = 0; a < 10; a += 1) insertDocument(collection, { _id: a, a })
  const all = [...collection.entries()]
  let scans = 0
  collection.entries = () => {
    scans += 1
    return all
  }
  const expectScans = (filter: Document, count: number, collation?: Document): void => {
    scans = 0
    find(collection, filter, collation)
    t.equal(scans, count, JSON.stringify({ filter, collation }))
  }
  expectScans({ a: 5 }, 0)
  expectScans({ a: { $eq: 5 }, b: 1 }, 0)
  expectScans({ a: { $in: [5], $gt: 1 } }, 0)
  expectScans({ $and: [{ b: 1 }, { a: 5 }] }, 0)
  t.strictSame(find(collection, { a: 5 }), [{ _id: 5, a: 5 }])
  expectScans({ $or: [{ a: 5 }] }, 1)
  expectScans({ a: { $in: [5, 6] } }, 0)
  expectScans({ a: { $gt: 5 } }, 0)
  expectScans({ a: null }, 1)
  expectScans({ a: [5] }, 1)
  expectScans({ a: /5/ }, 1)
  expectScans({ a: 5 }, 1, { locale: 'en' })
  expectScans({ b: 5 }, 1)
})

const document = fc.oneof(
  fc.record({ a: value }),
  fc.record({ c: fc.constant(1) }),
  fc.record({ a: value, c: scalar }),
)
const field = fc.constantFrom('a', 'a', 'a', 'a.b', 'a.0', 'c')
const german = { locale: 'de', strength: 1 }
const key = fc.oneof(
  // There is no index on an item by its place.
  { weight: 4, arbitrary: field.filter((path) => path !== 'a.0').map((path) => ({ [path]: 1 })) },
  { weight: 1, arbitrary: fc.constantFrom({ a: 1, c: 1 }, { 'a.b': 1, 'a.c': 1 }) },
)
const rarely = <T>(...values: T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 })
const indexOptions = fc.record({
  key,
  sparse: rarely(true),
  partialFilterExpression: rarely<Document>({ c: 1 }, { a: { $exists: true } }),
  collation: rarely<Document>({ locale: 'simple' }, german),
})
const isPattern = (one: unknown): boolean => one instanceof RegExp
const condition = fc.oneof(
  value,
  value.map(($eq) => ({ $eq })),
  value.filter((one) => !isPattern(one)).map((one) => ({ $in: [one] })),
)
const filter = fc.oneof(
  fc.tuple(field, condition).map(([path, one]) => ({ [path]: one })),
  fc
    .tuple(field, condition, field, condition)
    .map(([path, one, other, two]) => ({ $and: [{ [path]: one }, { [other]: two }] })),
)
const filters = fc.array(fc.tuple(filter, rarely<Document>({ locale: 'simple' }, german)), {
  minLength: 5,
  maxLength: 10,
})
const steps = fc.array(
  fc.record({ at: fc.nat(5), document: fc.option(document, { nil: undefined }) }),
  { maxLength: 12 },
)
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never

/** Writes records, and passes over what a unique index or a conflict refuses. */
function write(view: View, all: Steps): void {
  for (const { at, document } of all) {
    const key = view.collection.keyOf(at)
    try {
      if (document === undefined) view.remove(key)
      else view.put(key, { _id: at, ...document })
    } catch (error) {
      if (!(error instanceof CommandError) && !(error instanceof LockedError)) throw error
    }
  }
}

t.test('a lookup in unique indexes finds what a look at each record finds', async (t) => {
  let lookups = 0
  const check = (view: View, filter: Document, collation: Document | undefined): void => {
    const { collection } = view
    let isScan = false
    const entries = (): Iterable<[string, Document]> => {
      isScan = true
      return view.entries()
    }
    const { get, layers } = view
    const watched = { collection, entries, get: get.bind(view), layers: layers.bind(view) }
    const idsOf = (documents: Document[]): unknown[] => documents.map(({ _id }) => _id)
    const found = idsOf(find(watched as View, filter, collation))
    if (!isScan) lookups += 1
    const scanned = {
      ...watched,
      collection: { ...collection, keyIndexes: new Map() },
    }
    const expected = idsOf(find(scanned as unknown as View, filter, collation))
    if (String(found) !== String(expected)) throw new Error(`found ${found}, not ${expected}`)
  }
  fc.assert(
    fc.property(
      fc.array(indexOptions, { minLength: 1, maxLength: 3 }),
      fc.tuple(steps, steps, steps),
      filters,
      (indexes, [before, meanwhile, within], all) => {
        const clock = createClock()
        const unique = indexes.map((one) => ({ ...one, unique: true }))
        const collection = createCollection(clock, ...unique)
        write(collection, before)
        const transaction = new Transaction(clock)
        write(collection, meanwhile)
        const view = transaction.view(collection)
        write(view, within)
        for (const one of all) for (const seen of [collection, view]) check(seen, ...one)
        transaction.commit()
        for (const one of all) check(collection, ...one)
        for (const index of collection.uniqueIndexes.values()) {
          const toText = (values: readonly unknown[], key: string): string =>
            `${keyOf(values, index.collation)} ${key}`
          const held = Array.from(collection.entries(), ([key, document]) =>
            index.keysOf(document).map((values) => toText(values, key)),
          )
          const entries = [...collection.entriesOf(index).run(() => 0)]
          const holders = entries.map(({ values, key }) => toText(values, key))
          if (String([...new Set(held.flat())].toSorted()) !== String(holders.toSorted())) {
            throw new Error(`held ${held}, and not ${holders}`)
          }
        }
      },
    ),
    { numRuns: 1_000 },
  )
  t.ok(lookups > 1_000, `${lookups} lookups`)
})
