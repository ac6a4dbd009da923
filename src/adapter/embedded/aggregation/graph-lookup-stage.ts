import type { Document } from 'bson'
import { Long } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'
import { spendItems } from '../limits/work-limits.ts'
import type { Fields } from '../protocol/read-fields.ts'
import { readFields, readPath } from '../protocol/read-fields.ts'
import type { Predicate } from '../queries/filter.ts'
import { compileFilter, isOperators } from '../queries/filter.ts'
import { isDocument, isNumeric } from '../values/bson-type.ts'
import type { Collation } from '../values/collation.ts'
import { keysOf } from '../values/compare.ts'
import { placeField, valuesAt } from '../values/field-paths.ts'
import { isRegex } from '../values/regular-expression.ts'
import { typeNameOf } from '../values/type-names.ts'
import type { FindByKeys } from './join-keys.ts'
import { createFinder, joinValuesAt } from './join-keys.ts'
import { checkString } from './operators/operator.ts'
import type { Stage } from './stage-type.ts'

/** Null is a value of each: it is refused where another type is needed, and not left out. */
const FIELDS = {
  from: 'any',
  startWith: 'any',
  connectFromField: 'any',
  connectToField: 'any',
  as: 'any',
  maxDepth: 'any',
  depthField: 'any',
  restrictSearchWithMatch: 'any',
} as const

type Spec = Fields<typeof FIELDS> & { readonly from: string }
type PathName = 'connectFromField' | 'connectToField' | 'as' | 'depthField'

const REQUIRED = ['startWith', 'connectFromField', 'connectToField', 'as'] as const

/** What a search needs beside the values that it begins with. */
interface Graph {
  readonly find: FindByKeys
  readonly matches: Predicate
  readonly connectFrom: readonly string[]
  readonly collation: Collation | undefined
  readonly maxDepth: number
  /** Returns a document as the result has it. */
  readonly show: (document: Document, depth: number) => Document
}

/**
 * The stage `$graphLookup`: each document with those of a collection that can be reached from it,
 * step by step. The nearest come first, and those of one depth in the order of the collection.
 */
export const graphLookup: Stage = (spec, scope) => {
  const given = readSpec(spec)
  const { collation, compileExpression } = scope
  const as = readPathOf('as', given)
  const connectFrom = readPathOf('connectFromField', given)
  const connectTo = readPathOf('connectToField', given)
  const depthField = given.depthField === undefined ? [] : readPathOf('depthField', given)
  const maxDepth = readMaxDepth(given.maxDepth)
  const startWith = compileExpression(given.startWith)
  const matches = compileFilter(readMatch(given.restrictSearchWithMatch), {
    collation,
    compileExpression,
  })
  const show = (document: Document, depth: number): Document =>
    depthField.length === 0
      ? document
      : (placeField(document, depthField, Long.fromNumber(depth)) as Document)
  return (documents) => {
    // Unlike in a filter, a missing field is not the same as null.
    const nodes = scope
      .readCollection(given.from)
      .filter((node) => valuesAt(node, connectTo).some((value) => value !== undefined))
    const find = createFinder(nodes, connectTo, collation)
    const graph = { find, matches, connectFrom, collation, maxDepth, show }
    return documents.map((document) => {
      const found = search(joinValuesAt(startWith(document), []), graph)
      return placeField(document, as, found) as Document
    })
  }
}

/** Returns what can be reached, breadth first, and each document once. */
function search(start: readonly unknown[], graph: Graph): Document[] {
  const { find, matches, connectFrom, collation, maxDepth, show } = graph
  const visited = new Map<Document, Document>()
  const searched = new Set<string>()
  let keys = toKeys(start, collation)
  for (let depth = 0; keys.length > 0 && depth <= maxDepth; depth += 1) {
    for (const key of keys) searched.add(key)
    const found = find(keys).filter((document) => !visited.has(document) && matches(document))
    spendItems(found.length)
    for (const document of found) visited.set(document, show(document, depth))
    const next = found.flatMap((document) => joinValuesAt(visited.get(document), connectFrom))
    keys = toKeys(next, collation).filter((key) => !searched.has(key))
  }
  return [...visited.values()]
}

function toKeys(values: readonly unknown[], collation: Collation | undefined): string[] {
  const wrong = values.find((value) => isRegex(value) || isOperators(value))
  // MongoDB would search by the pattern, and the operators fail there.
  if (wrong !== undefined) throw notSupported(`$graphLookup from a ${typeNameOf(wrong)} like this`)
  return [...keysOf(values, collation)]
}

function readSpec(spec: unknown): Spec {
  if (!isDocument(spec)) {
    throw new CommandError(
      9,
      `the $graphLookup stage must be an object, and is ${typeNameOf(spec)}`,
    )
  }
  const given = readFields('$graphLookup', spec, FIELDS, { unknown: 40104 })
  const { from } = given
  if (typeof from !== 'string') {
    const type = typeNameOf(from)
    throw new CommandError(9, `$graphLookup needs a collection, 'from', as a string, not ${type}`)
  }
  const missing = REQUIRED.find((name) => given[name] === undefined || given[name] === '')
  if (missing === undefined) return { ...given, from }
  throw new CommandError(40105, `$graphLookup requires '${missing}' to be specified`)
}

function readPathOf(name: PathName, given: Spec): string[] {
  const label = `$graphLookup.${name}`
  return readPath(label, checkString(label, given[name], 40103))
}

function readMatch(filter: unknown): unknown {
  if (filter === undefined) return {}
  if (isDocument(filter)) return filter
  const type = typeNameOf(filter)
  throw new CommandError(40185, `restrictSearchWithMatch must be an object, found ${type}`)
}

function readMaxDepth(value: unknown): number {
  if (value === undefined) return Number.POSITIVE_INFINITY
  if (!isNumeric(value)) {
    throw new CommandError(40100, `maxDepth must be numeric, found type: ${typeNameOf(value)}`)
  }
  const depth = Number(String(value))
  if (Math.trunc(depth) < 0) {
    throw new CommandError(40101, `maxDepth requires a nonnegative argument, found: ${depth}`)
  }
  if (Number.isInteger(depth) && depth < 2 ** 63) return depth
  throw new CommandError(40102, `maxDepth could not be represented as a long long: ${depth}`)
}
