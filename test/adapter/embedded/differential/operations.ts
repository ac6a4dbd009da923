import type { Document } from 'mongodb'
import { filterOf, pathOf, projectionOf, sortOf } from './filters.ts'
import { expressionOf, pipelineOf } from './pipelines.ts'
import type { Random } from './random.ts'
import { anyValueOf, documentOf, itemOf, numberOf, scalarOf } from './random.ts'

/** One command. */
export interface Operation {
  readonly command: Document
  readonly isWrite: boolean
}

/** The collection of all operations. */
export const COLLECTION = 'things'

type Make = (random: Random) => unknown

const TARGETS = ['a', 'b', 'n', 'o.k', 'o.new.x', 'd.0.k', 'l.0', 'm.1', 'new', 'd.$[].v', 'd.$.v']
const LISTS = ['a', 'l', 'm', 'd', 'o.w', 'new', 'd.0.w']
const COUNTS = ['n', 'n', 'o.k', 'm.0', 'd.0.k', 'new', 'm.$[]', 'm.$[i]', 'm.$', 's']

const fields =
  (paths: readonly string[], operand: Make): Make =>
  (random) =>
    Object.fromEntries(random.list(1, 2, () => [random.pick(paths), operand(random)]))

/** What each update operator takes. */
const UPDATES: Readonly<Record<string, Make>> = {
  $set: fields(TARGETS, anyValueOf),
  $unset: fields(TARGETS, () => ''),
  $setOnInsert: fields(['new', 'a'], anyValueOf),
  $inc: fields(COUNTS, numberOf),
  $mul: fields(COUNTS, numberOf),
  $min: fields(TARGETS, scalarOf),
  $max: fields(TARGETS, scalarOf),
  $rename: (random) => ({ [random.pick(['a', 'b', 'o.k'])]: random.pick(['new', 'o.new', 's']) }),
  $currentDate: (random) => ({ stamp: random.pick<unknown>([true, { $type: 'date' }]) }),
  $push: fields(LISTS, (random) => (random.chance(0.5) ? anyValueOf(random) : pushOf(random))),
  $addToSet: fields(LISTS, (random) =>
    random.chance(0.5) ? scalarOf(random) : { $each: random.list(0, 3, () => scalarOf(random)) },
  ),
  $pop: fields(LISTS, (random) => random.pick([1, -1])),
  $pull: fields(LISTS, (random) =>
    random.pick<Make>([
      scalarOf,
      () => ({ $gte: numberOf(random) }),
      () => ({ k: numberOf(random) }),
    ])(random),
  ),
  $pullAll: fields(LISTS, (random) => random.list(0, 3, () => scalarOf(random))),
}

function pushOf(random: Random): Document {
  return {
    $each: random.list(0, 3, () => (random.chance(0.3) ? itemOf(random) : numberOf(random))),
    ...(random.chance(0.4) ? { $position: random.below(4) - 1 } : {}),
    ...(random.chance(0.4) ? { $slice: random.below(7) - 3 } : {}),
    ...(random.chance(0.3) ? { $sort: random.pick<unknown>([1, -1, { k: 1 }]) } : {}),
  }
}

function updateOf(random: Random): Document | Document[] {
  if (random.chance(0.12)) {
    return [{ $set: { x: expressionOf(random) } }, ...(random.chance(0.4) ? [{ $unset: 'a' }] : [])]
  }
  const names = random.list(1, 2, () => random.pick(Object.keys(UPDATES)))
  return Object.fromEntries(names.map((name) => [name, UPDATES[name]?.(random)]))
}

function statementOf(random: Random): Document {
  const isUpsert = random.chance(0.15)
  // An upsert names its _id, which otherwise the server makes.
  const { u: _unique, ...filter } = filterOf(random, isUpsert ? 0 : 2)
  const q = isUpsert ? { ...filter, _id: random.below(14) } : filter
  const u = random.chance(0.1) ? replacementOf(random) : updateOf(random)
  const isOperators = !Array.isArray(u) && Object.keys(u)[0]?.startsWith('$') === true
  return {
    q,
    u,
    ...(isUpsert ? { upsert: true } : {}),
    ...(isOperators && random.chance(0.5) ? { multi: true } : {}),
    ...(JSON.stringify(u).includes('$[i]')
      ? { arrayFilters: [{ i: { $gte: numberOf(random) } }] }
      : {}),
  }
}

/** Returns a document without the fields that no two documents share. */
function replacementOf(random: Random): Document {
  const { _id, u: _unique, ...fields } = documentOf(random, 0)
  return fields
}

const READS: readonly ((random: Random) => Document)[] = [
  (random) => ({ find: COLLECTION, filter: filterOf(random), sort: sortOf(random) }),
  (random) => ({ find: COLLECTION, filter: filterOf(random), sort: { _id: 1 } }),
  (random) => ({
    find: COLLECTION,
    filter: filterOf(random),
    sort: sortOf(random),
    skip: random.below(3),
    limit: random.below(5),
  }),
  (random) => ({
    find: COLLECTION,
    filter: filterOf(random),
    sort: { _id: 1 },
    projection: projectionOf(random),
  }),
  (random) => ({ count: COLLECTION, query: filterOf(random) }),
  (random) => ({ distinct: COLLECTION, key: pathOf(random), query: filterOf(random) }),
  (random) => ({ aggregate: COLLECTION, pipeline: pipelineOf(random, COLLECTION), cursor: {} }),
  (random) => ({ aggregate: COLLECTION, pipeline: pipelineOf(random, COLLECTION), cursor: {} }),
  (random) => ({ aggregate: COLLECTION, pipeline: pipelineOf(random, COLLECTION), cursor: {} }),
]

const WRITES: readonly ((random: Random) => Document)[] = [
  (random) => ({ insert: COLLECTION, documents: [documentOf(random, random.below(14))] }),
  (random) => ({ update: COLLECTION, updates: [statementOf(random)] }),
  (random) => ({ update: COLLECTION, updates: [statementOf(random)] }),
  (random) => ({ update: COLLECTION, updates: [statementOf(random)] }),
  (random) => ({ update: COLLECTION, updates: [statementOf(random)] }),
  (random) => ({ update: COLLECTION, updates: [statementOf(random)] }),
  (random) => ({
    delete: COLLECTION,
    deletes: [{ q: { ...filterOf(random), _id: random.below(12) }, limit: 1 }],
  }),
  (random) => {
    const { q: query, u: update, multi: _multi, ...options } = statementOf(random)
    return {
      findAndModify: COLLECTION,
      query,
      sort: sortOf(random),
      update,
      new: random.chance(0.5),
      ...options,
    }
  },
]

/** Returns the next operation: three reads for two writes. */
export function operationOf(random: Random): Operation {
  const isWrite = random.chance(0.4)
  return { command: random.pick(isWrite ? WRITES : READS)(random), isWrite }
}

/** Indexes that refuse some writes. */
const REFUSING_INDEXES: readonly Document[] = [
  { key: { new: 1 }, name: 'new', unique: true, sparse: true },
  { key: { 'o.k': 1 }, name: 'part', unique: true, partialFilterExpression: { s: 'ab' } },
  { key: { 'd.k': 1, m: 1 }, name: 'parallel' },
]

/** Indexes that refuse none, so that they must not change anything. */
export const HARMLESS_INDEXES: readonly Document[] = [
  { key: { u: 1 }, name: 'u', unique: true, sparse: true },
  { key: { n: 1 }, name: 'n' },
  { key: { b: 1 }, name: 'b', sparse: true },
  { key: { n: 1, s: -1 }, name: 'ns' },
]

/** Returns some of the indexes that refuse writes. */
export function indexesOf(random: Random): Document[] {
  return REFUSING_INDEXES.filter(() => random.chance(0.4))
}
