import type { Document } from 'bson'
import { MinKey, ObjectId } from 'bson'
import fc from 'fast-check'
import t from 'tap'
import { createCollation } from '../../../../src/adapter/embedded/protocol/collation-option.ts'
import { compileSort } from '../../../../src/adapter/embedded/queries/sort.ts'
import { Changes } from '../../../../src/adapter/embedded/storage/changes.ts'
import type { Clock, View } from '../../../../src/adapter/embedded/storage/collection.ts'
import { Collection, LockedError } from '../../../../src/adapter/embedded/storage/collection.ts'
import { select } from '../../../../src/adapter/embedded/storage/select-records.ts'
import { Transaction } from '../../../../src/adapter/embedded/storage/transaction.ts'
import { CommandError } from '../../../../src/adapter/matching/command-error.ts'
import { compareValues, keyOf } from '../../../../src/adapter/matching/compare.ts'
import { compileFilter } from '../../../../src/adapter/matching/filter.ts'
import { pluck } from '../../../support/pluck.ts'
import { scalar, value } from './arbitraries.ts'

const german = { locale: 'de', strength: 1 }
const rarely = <T>(...values: T[]): fc.Arbitrary<T | undefined> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  )

const IDS: readonly unknown[] = [
  ...[0, 1, 2.5, 10, 'a', 'A', 'b', '', null, true, new Date(0), new Date(Number.NaN)],
  ...[new ObjectId('0'.repeat(24)), new ObjectId('1'.repeat(24)), { x: 1 }, { x: null }],
]
const id = fc.constantFrom(...IDS)
const field = fc.constantFrom('a', 'a', 'a', 'b', 'b', 'c', 'a.b', 'a.c', '_id')
const direction = fc.constantFrom(1, -1)
const keys = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(field, direction).map(([path, way]) => ({ [path]: way })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.uniqueArray(field, { minLength: 2, maxLength: 3 }), direction, direction)
      .map((paths) => Object.fromEntries(paths[0].map((path, at) => [path, paths[1 + (at % 2)]]))),
  },
  { weight: 1, arbitrary: fc.constant({ 'a.b': 1, 'a.c': 1 }) },
)
const indexSpec = fc.record({
  key: keys as fc.Arbitrary<Document>,
  unique: rarely(true),
  sparse: rarely(true),
  hidden: rarely(true),
  collation: rarely<Document>(german, german, { locale: 'simple' }),
  partialFilterExpression: rarely<Document>(
    { c: 1 },
    { a: { $exists: true } },
    { b: { $gt: 0 }, $or: [{ c: 1 }, { c: 0 }] },
  ),
})
const few = fc.constantFrom(0, 1, 2, 3, 'a', 'A', 'b', null)
const item = fc.oneof(few, fc.record({ b: few, c: few }, { requiredKeys: [] }))
const single = fc.oneof(
  { weight: 8, arbitrary: few },
  { weight: 1, arbitrary: fc.record({ b: few, c: few }, { requiredKeys: [] }) },
  { weight: 1, arbitrary: scalar },
)
const fieldsOf = (one: fc.Arbitrary<unknown>): fc.Arbitrary<Document> =>
  fc.record({ a: one, b: one, c: fc.constantFrom(0, 1, null, 'a', 'A') }, { requiredKeys: [] })
const plainFields = fieldsOf(single)
/** One list is enough for an index to be one of several keys for good. */
const anyFields = fieldsOf(
  fc.oneof(
    { weight: 3, arbitrary: single },
    { weight: 2, arbitrary: fc.array(item, { maxLength: 3 }) },
    { weight: 1, arbitrary: value },
  ),
)

const operand = fc.oneof(
  { weight: 6, arbitrary: few },
  { weight: 1, arbitrary: id },
  { weight: 1, arbitrary: value },
)
const isPattern = (one: unknown): boolean => one instanceof RegExp
const comparison = fc.oneof(
  operand,
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), operand)
    .map(([operator, one]) => ({ [operator]: one })),
  fc.tuple(operand, operand).map(([low, high]) => ({ $gte: low, $lt: high })),
  // No item of a list that comes from a client is missing.
  fc
    .array(operand, { maxLength: 3 })
    .map((list) => ({ $in: list.filter((one) => !isPattern(one) && one !== undefined) })),
  fc.constantFrom<Document>({ $exists: true }, { $ne: 1 }, { $type: 'string' }),
)
const clause = fc.tuple(field, comparison).map(([path, one]): Document => ({ [path]: one }))
const filter = fc.oneof(
  fc.constant<Document>({}),
  clause,
  fc.array(clause, { minLength: 2, maxLength: 3 }).map(($and): Document => ({ $and })),
  fc
    .tuple(clause, clause, fc.constantFrom<Document>({ c: 1 }, { $or: [{ c: 1 }, { c: 0 }] }))
    .map(([one, other, last]): Document => ({ ...one, $and: [{ $and: [other, last] }] })),
)
const sort = fc
  .uniqueArray(field, { maxLength: 2 })
  .chain((paths) =>
    fc
      .tuple(direction, fc.constantFrom(1, 1, -1))
      .map(([way, turn]) =>
        Object.fromEntries(paths.map((path, at) => [path, at === 0 ? way : way * turn])),
      ),
  )
const query = fc.record({
  filter,
  sort: sort as fc.Arbitrary<Document>,
  skip: fc.nat(2),
  limit: fc.constantFrom(0, 1, 2, 3),
  collation: rarely<Document>(german),
})
type Query = typeof query extends fc.Arbitrary<infer T> ? T : never

const stepsOf = (fields: fc.Arbitrary<Document>) =>
  fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('write' as const),
          id,
          fields: fc.option(fields, { nil: undefined, freq: 5 }),
          within: fc.boolean(),
        }),
      },
      { weight: 12, arbitrary: fc.record({ kind: fc.constant('read' as const), query }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('commit' as const, 'abort') }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('index' as const), spec: indexSpec }) },
    ),
    { minLength: 60, maxLength: 120, size: 'max' },
  )

function toOptions(collation: Document | undefined) {
  return {
    collation: createCollation(collation),
    compileExpression: () => () => undefined,
  }
}

/** Returns whether a filter names the `_id`s: they are found in their own order. */
function namesIds(filter: Document): boolean {
  return Object.entries(filter).some(([path, one]) => {
    if (path === '$and') return one.some(namesIds)
    if (path !== '_id' || isPattern(one)) return false
    const operators = Object.keys(one ?? {}).filter((name) => name.startsWith('$'))
    return operators.length === 0 || operators.includes('$eq') || operators.includes('$in')
  })
}

/** Returns what a query finds by a look at each record. */
function scan(view: View, { filter, sort, skip, limit, collation }: Query): Document[] {
  const options = toOptions(collation)
  const matches = compileFilter(filter, options)
  const found = Array.from(view.entries(), ([, document]) => document).filter(matches)
  if (namesIds(filter) && collation === undefined) {
    found.sort((a, b) => compareValues(a['_id'], b['_id']))
  }
  const sorted = compileSort(sort, options.collation)(found)
  return sorted.slice(skip, limit === 0 ? undefined : skip + limit)
}

/** Returns the ids of what is found, or why the sort is refused: two lists give no order. */
function idsOf(find: () => Document[]): string {
  try {
    return find()
      .map(({ _id }) => keyOf(_id))
      .join()
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return error.message
  }
}

/** Writes, unless an index or a conflict refuses it. */
function write(view: View, id: unknown, fields: Document | undefined): void {
  try {
    const key = view.collection.keyOf(id)
    if (fields === undefined) view.remove(key)
    else view.put(key, { _id: id, ...fields })
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof LockedError)) throw error
  }
}

const createClock = (): Clock => ({ time: 0, changes: new Changes(), open: new Set(), history: [] })

/** Adds an index, unless the documents that are there refuse it. */
function addIndex(collection: Collection, spec: Document): void {
  try {
    collection.addIndex({ v: 2, name: `i${collection.indexes.size}`, ...spec })
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof LockedError)) throw error
  }
}

const isGiven = (value: unknown): boolean => value !== undefined

t.test('indexes change nothing about what is found, nor about its order', async (t) => {
  let byIndex = 0
  const check = (view: View, query: Query): void => {
    let scans = 0
    const seen = {
      collection: view.collection,
      get: view.get.bind(view),
      layers: view.layers.bind(view),
      entries: () => {
        scans += 1
        return view.entries()
      },
    }
    const { filter, collation, ...page } = query
    const one = idsOf(() => select(seen as unknown as View, filter, toOptions(collation), page))
    const other = idsOf(() => scan(view, query))
    if (scans === 0) byIndex += 1
    if (one !== other) throw new Error(`found ${one}, and not ${other}`)
  }
  fc.assert(
    fc.property(
      fc.array(indexSpec, { minLength: 1, maxLength: 4 }),
      fc.oneof(stepsOf(plainFields), stepsOf(anyFields)),
      (specs, steps) => {
        const clock = createClock()
        const collection = new Collection('test.c', {}, clock)
        let transaction = new Transaction(clock)
        const clean = (spec: Document): Document =>
          Object.fromEntries(Object.entries(spec).filter(([, one]) => isGiven(one)))
        for (const spec of specs) addIndex(collection, clean(spec))
        for (const step of steps) {
          if (step.kind === 'write') {
            write(step.within ? transaction.view(collection) : collection, step.id, step.fields)
          } else if (step.kind === 'read') {
            check(collection, step.query)
            check(transaction.view(collection), step.query)
          } else if (step.kind === 'index') {
            addIndex(collection, clean(step.spec))
          } else {
            if (step.kind === 'commit') transaction.commit()
            else transaction.abort()
            transaction = new Transaction(clock)
          }
        }
        transaction.abort()
      },
    ),
    { numRuns: 150 },
  )
  t.ok(byIndex > 1_000, `${byIndex} reads by an index`)
})

interface Case {
  readonly index: Document
  readonly documents: readonly Document[]
  readonly filter?: Document
  readonly sort?: Document
  readonly finds: readonly number[]
}

const CASES: Readonly<Record<string, Case>> = {
  'items of a list that meet two bounds between them': {
    index: { key: { a: 1 } },
    documents: [{ a: [1, 20] }, { a: 7 }],
    filter: { a: { $gt: 5, $lt: 10 } },
    finds: [0, 1],
  },
  'two items of one list that meet the conditions of two fields': {
    index: { key: { 'a.b': 1, 'a.c': 1 } },
    documents: [
      {
        a: [
          { b: 1, c: 9 },
          { b: 8, c: 2 },
        ],
      },
    ],
    filter: { 'a.b': 1, 'a.c': 2 },
    finds: [0],
  },
  'a list that is equal as a whole': {
    index: { key: { a: 1 } },
    documents: [{ a: [1, 2] }, { a: [[1, 2]] }, { a: 1 }],
    filter: { a: { $in: [[1, 2]] } },
    finds: [0, 1],
  },
  'a list above another list': {
    index: { key: { a: 1 } },
    documents: [{ a: [3] }, { a: [1] }],
    filter: { a: { $gt: [2] } },
    finds: [0],
  },
  'strings that match a pattern': {
    index: { key: { a: 1 } },
    documents: [{ a: 'x' }, { a: 'y' }],
    filter: { a: { $in: [/x/] } },
    finds: [0],
  },
  'everything above MinKey, what has no field too': {
    index: { key: { a: 1 }, sparse: true },
    documents: [{ a: 1 }, {}],
    filter: { a: { $gt: new MinKey() } },
    finds: [0, 1],
  },
  'a sort by a sparse index': {
    index: { key: { a: 1 }, sparse: true },
    documents: [{ a: 1 }, {}],
    sort: { a: 1 },
    finds: [1, 0],
  },
  'a sort in directions that the index does not have': {
    index: { key: { a: 1, b: 1 } },
    documents: [
      { a: 1, b: 1 },
      { a: 1, b: 2 },
      { a: 0, b: 3 },
    ],
    sort: { a: 1, b: -1 },
    finds: [2, 1, 0],
  },
  'equal values backwards, in the order of insertion': {
    index: { key: { a: 1 } },
    documents: [{ a: 1 }, { a: 2 }, { a: 1 }, { a: 2 }],
    sort: { a: -1 },
    finds: [1, 3, 0, 2],
  },
  'a date beyond those of JavaScript among others': {
    index: { key: { a: 1 } },
    documents: [0, Number.NaN, 1, Number.NaN, 2].map((time) => ({ a: new Date(time) })),
    filter: { a: new Date(1) },
    finds: [2],
  },
  'the order of dates, below which those beyond JavaScript stand': {
    index: { key: { a: 1 } },
    documents: [3, Number.NaN, 1, Number.NaN, 2, 0].map((time) => ({ a: new Date(time) })),
    sort: { a: 1 },
    finds: [1, 3, 5, 2, 4, 0],
  },
}

t.test('an index does not hide', async (t) => {
  for (const [title, { index, documents, filter = {}, sort = {}, finds }] of Object.entries(
    CASES,
  )) {
    await t.test(title, async (t) => {
      const collection = new Collection('test.c', {}, createClock())
      addIndex(collection, index)
      for (const [id, fields] of documents.entries()) write(collection, id, fields)
      const found = select(collection, filter, toOptions(undefined), { sort, limit: finds.length })
      t.strictSame(pluck(found, '_id'), finds)
    })
  }
})

t.test('a transaction reads what an index that was made since would refuse', async (t) => {
  const clock = createClock()
  const collection = new Collection('test.c', {}, clock)
  write(collection, 1, { a: [1], b: [1] })
  const transaction = new Transaction(clock)
  t.teardown(() => transaction.abort())
  write(collection, 1, undefined)
  addIndex(collection, { key: { a: 1, b: 1 } })
  addIndex(collection, { key: { a: 1 } })
  const view = transaction.view(collection)
  t.match(select(view, { a: 1 }, toOptions(undefined)), [{ _id: 1 }])
})
