import type { Document } from 'bson'
import { isDocument, isNumeric, typeNameOf } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { keysOf } from '../../matching/compare.ts'
import { getField, isIndex, placeField, valuesAt } from '../../matching/field-paths.ts'
import { isOperators } from '../../matching/filter.ts'
import { isRegex } from '../../matching/regular-expression.ts'
import { spendItems } from '../limits.ts'
import { fieldsOf, readCount, readFields, readPath, refuse } from '../protocol/read-fields.ts'
import { checkVariable } from './operators/logic.ts'
import type { Stage, StageScope } from './stage.ts'

const LOOKUP_FIELDS = {
  ...fieldsOf('string', 'from', 'localField', 'foreignField', 'as'),
  let: 'object',
  pipeline: 'array',
} as const

/** The stage `$lookup`: joins each document with matching ones of another collection. */
export const lookup: Stage = (spec, scope) => {
  const given = readFields('$lookup', spec, LOOKUP_FIELDS, { unknown: 9 })
  const { from, localField, foreignField, pipeline, as } = given
  if (from === undefined || as === undefined) {
    throw new CommandError(9, "$lookup needs the arguments 'from' and 'as'")
  }
  const isJoin = localField !== undefined && foreignField !== undefined
  if ((localField === undefined) !== (foreignField === undefined) || (!isJoin && !pipeline)) {
    throw new CommandError(9, "$lookup needs a 'pipeline' or both 'localField' and 'foreignField'")
  }
  if (given.let !== undefined && pipeline === undefined) {
    throw new CommandError(9, "$lookup with 'let' needs a 'pipeline' as well")
  }
  const asPath = readPath('$lookup.as', as)
  const local = isJoin ? readPath('$lookup.localField', localField) : []
  const foreign = isJoin ? readPath('$lookup.foreignField', foreignField) : []
  const runInner = pipeline === undefined ? undefined : createInner(pipeline, given.let, scope)
  return (documents) => {
    const others = scope.readCollection(from)
    const join = isJoin ? createJoin(others, local, foreign, scope.collation) : () => others
    return documents.map((document) => {
      const joined = join(document)
      spendItems(joined.length)
      const result = runInner === undefined ? joined : runInner(joined, document)
      return placeField(document, asPath, result) as Document
    })
  }
}

/** Joins by equality: each item of an array counts, and a missing field is null. */
function createJoin(
  others: readonly Document[],
  local: readonly string[],
  foreign: readonly string[],
  collation: Collation | undefined,
): (document: Document) => Document[] {
  const find = createFinder(others, foreign, collation)
  return (document) => {
    const values = joinValuesAt(document, local)
    return find(keysOf(values.length === 0 ? [null] : values, collation))
  }
}

/** Returns the inner pipeline; with `let` it is compiled for the values of each document. */
function createInner(
  pipeline: unknown[],
  bindings: Document = {},
  scope: StageScope,
): (joined: Document[], document: Document) => Document[] {
  const values = Object.entries(bindings).map(([name, expression]) => ({
    name: checkVariable(name),
    evaluate: scope.compileExpression(expression),
  }))
  // Compiled once without values, so that an error is found even without documents.
  const names = Object.fromEntries(values.map(({ name }) => [name, null]))
  const run = scope.compileInner(pipeline, { ...scope.variables, ...names })
  if (values.length === 0) return (joined) => run(joined)
  return (joined, document) => {
    const own = values.map(({ name, evaluate }) => [name, evaluate(document)])
    return scope.compileInner(pipeline, { ...scope.variables, ...Object.fromEntries(own) })(joined)
  }
}

/** Returns the documents that have one of the keys: each once, in the order they were given in. */
type FindByKeys = (keys: Iterable<string>) => Document[]

/**
 * Returns the values that a join looks for in other documents. An array at the end counts as its items, an
 * array on the way as its documents, and an index in the path selects one item. A missing field has no value.
 */
function joinValuesAt(source: unknown, parts: readonly string[], from = 0): unknown[] {
  const name = parts[from]
  if (name === undefined) {
    if (Array.isArray(source)) return source
    return source === undefined ? [] : [source]
  }
  if (isDocument(source)) return joinValuesAt(getField(source, name), parts, from + 1)
  if (!Array.isArray(source)) return []
  if (isIndex(name)) return joinValuesAt(source[Number(name)], parts, from + 1)
  return source.filter(isDocument).flatMap((item) => joinValuesAt(item, parts, from))
}

/**
 * Returns a function that finds documents by the keys of values, like `$in` on the path: by an item of an
 * array or the whole array, and by null if the field is missing. Built once, so that a join does not scan all
 * documents for each value.
 */
function createFinder(
  documents: readonly Document[],
  parts: readonly string[],
  collation: Collation | undefined,
): FindByKeys {
  const byKey = new Map<string, number[]>()
  for (const [index, document] of documents.entries()) {
    const values = valuesAt(document, parts)
    const items = values.flatMap((value) => (Array.isArray(value) ? value : []))
    for (const key of keysOf([...values, ...items], collation)) {
      const known = byKey.get(key)
      if (known === undefined) byKey.set(key, [index])
      else known.push(index)
    }
  }
  return (keys) => {
    const found = new Set([...keys].flatMap((key) => byKey.get(key) ?? []))
    return [...found].sort((a, b) => a - b).flatMap((index) => documents[index] ?? [])
  }
}

const GRAPH_FIELDS = {
  ...fieldsOf('string', 'from', 'connectFromField', 'connectToField', 'as'),
  ...fieldsOf('any', 'startWith', 'maxDepth'),
  ...refuse('depthField', 'restrictSearchWithMatch'),
} as const

const REQUIRED = ['from', 'startWith', 'connectFromField', 'connectToField', 'as'] as const

/**
 * The stage `$graphLookup`: joins each document with those reachable from it, step by step. The nearest come
 * first, and those of one depth in the order of the collection.
 */
export const graphLookup: Stage = (spec, scope) => {
  const given = readFields('$graphLookup', spec, GRAPH_FIELDS, { unknown: 40104 })
  const missing = REQUIRED.find((name) => given[name] === undefined || given[name] === '')
  if (missing !== undefined) {
    throw new CommandError(40105, `$graphLookup requires '${missing}' to be specified`)
  }
  const { from = '', connectFromField = '', connectToField = '' } = given
  const { collation, compileExpression } = scope
  const as = readPath('$graphLookup.as', given.as ?? '')
  const connectFrom = readPath('$graphLookup.connectFromField', connectFromField)
  const connectTo = readPath('$graphLookup.connectToField', connectToField)
  if (given.maxDepth !== undefined && !isNumeric(given.maxDepth)) {
    throw new CommandError(40100, 'maxDepth must be a number')
  }
  if (Number(given.maxDepth) < 0) throw new CommandError(40101, 'maxDepth must not be negative')
  const maxDepth = readCount('maxDepth', given.maxDepth, Number.POSITIVE_INFINITY)
  const startWith = compileExpression(given.startWith)
  return (documents) => {
    // Unlike in a filter, a missing field is not the same as null.
    const nodes = scope
      .readCollection(from)
      .filter((node) => valuesAt(node, connectTo).some((value) => value !== undefined))
    const find = createFinder(nodes, connectTo, collation)
    // Breadth first, and each document once.
    const search = (start: readonly unknown[]): Document[] => {
      const visited = new Set<Document>()
      const searched = new Set<string>()
      let keys = toKeys(start, collation)
      for (let depth = 0; keys.length > 0 && depth <= maxDepth; depth += 1) {
        for (const key of keys) searched.add(key)
        const found = find(keys).filter((document) => !visited.has(document))
        spendItems(found.length)
        for (const document of found) visited.add(document)
        const next = found.flatMap((document) => joinValuesAt(document, connectFrom))
        keys = toKeys(next, collation).filter((key) => !searched.has(key))
      }
      return [...visited]
    }
    return documents.map((document) => {
      const found = search(joinValuesAt(startWith(document), []))
      return placeField(document, as, found) as Document
    })
  }
}

function toKeys(values: readonly unknown[], collation: Collation | undefined): string[] {
  const wrong = values.find((value) => isRegex(value) || isOperators(value))
  // MongoDB would search by the pattern, and fails on the operators.
  if (wrong !== undefined) throw notSupported(`$graphLookup from a ${typeNameOf(wrong)} like this`)
  return [...keysOf(values, collation)]
}
