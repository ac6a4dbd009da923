import type { Document } from 'mongodb'
import type { Random } from './random.ts'
import { anyValueOf, itemOf, numberOf, scalarOf, stringOf } from './random.ts'

const PATHS = [
  'a',
  'b',
  'n',
  's',
  't',
  'l',
  'm',
  'o',
  'd',
  'o.k',
  'o.v',
  'o.w',
  'd.k',
  'd.v',
  'd.w',
]
const RARE_PATHS = ['gone', 'd.0', 'd.0.k', 'l.0', 'm.1', 'a.0', 'a.k', 'o.k.x', '_id']
const TYPES = ['number', 'string', 'array', 'object', 'null', 'bool', 'date', 'int', 'objectId']
const PATTERNS = ['^a', 'b$', 'A', '.', '^$', '[ab]+']

/** Returns a path that documents may have. */
export const pathOf = (random: Random): string =>
  random.chance(0.85) ? random.pick(PATHS) : random.pick(RARE_PATHS)

type Make = (random: Random) => unknown

/** What each operator on a field takes. */
const OPERANDS: Readonly<Record<string, Make>> = {
  $eq: anyValueOf,
  $ne: anyValueOf,
  $gt: anyValueOf,
  $gte: anyValueOf,
  $lt: anyValueOf,
  $lte: anyValueOf,
  $in: (random) => random.list(0, 3, () => anyValueOf(random)),
  $nin: (random) => random.list(0, 3, () => anyValueOf(random)),
  $exists: (random) => random.chance(0.5),
  $type: (random) => random.pick(TYPES),
  $size: (random) => random.below(4),
  $mod: (random) => [1 + random.below(3), random.below(3)],
  $all: (random) => random.list(0, 2, () => scalarOf(random)),
  $regex: (random) => random.pick(PATTERNS),
  $not: (random) => conditionOf(random, 0),
}

/** Returns operators on a field. */
function conditionOf(random: Random, depth: number): Document {
  if (depth > 0 && random.chance(0.15)) return { $elemMatch: elementOf(random) }
  const names = Object.keys(OPERANDS).filter((name) => depth > 0 || name !== '$not')
  const condition: Document = {}
  for (const name of random.list(1, 2, () => random.pick(names))) {
    condition[name] = OPERANDS[name]?.(random)
  }
  if ('$regex' in condition && random.chance(0.5)) condition['$options'] = 'i'
  return condition
}

/** Returns what `$elemMatch` takes: operators on an item, or a filter of its fields. */
function elementOf(random: Random): Document {
  if (random.chance(0.5)) return conditionOf(random, 0)
  return random.chance(0.5)
    ? { k: numberOf(random) }
    : { k: { $gte: numberOf(random) }, v: { $exists: random.chance(0.5) } }
}

/** Returns a filter. */
export function filterOf(random: Random, depth = 2): Document {
  if (random.chance(0.05)) return {}
  if (random.chance(0.1)) return { _id: random.below(12) }
  if (random.chance(0.08)) return { u: `u${random.below(12)}` }
  if (depth > 0 && random.chance(0.25)) {
    const clauses = random.list(1, 3, () => filterOf(random, depth - 1))
    return { [random.pick(['$and', '$or', '$nor'])]: clauses }
  }
  if (random.chance(0.06)) {
    return {
      $expr: { [random.pick(['$eq', '$gt', '$lt'])]: [`$${pathOf(random)}`, scalarOf(random)] },
    }
  }
  const filter: Document = {}
  for (const path of random.list(1, 2, () => pathOf(random))) {
    filter[path] = random.chance(0.35) ? equalityOf(random) : conditionOf(random, 1)
  }
  return filter
}

function equalityOf(random: Random): unknown {
  return random.pick([scalarOf, scalarOf, anyValueOf, itemOf, stringOf])(random)
}

/** Returns an order that no two documents share a place in. */
export function sortOf(random: Random): Document {
  const sort: Document = {}
  for (const path of random.list(0, 2, () => pathOf(random))) sort[path] = random.pick([1, -1])
  return { ...sort, _id: sort['_id'] ?? 1 }
}

/** Returns a projection of fields: all that are kept, or all that are left out. */
export function projectionOf(random: Random): Document {
  const isKept = random.chance(0.6)
  const projection: Document = {}
  for (const path of random.list(1, 3, () => pathOf(random))) {
    // A path and its parent cannot be in one projection.
    const isFree = Object.keys(projection).every(
      (other) => other.split('.')[0] !== path.split('.')[0],
    )
    if (isFree && path !== '_id') projection[path] = isKept ? 1 : 0
  }
  return random.chance(0.2) ? { ...projection, _id: 0 } : projection
}
