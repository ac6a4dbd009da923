import { MANUAL, SERVER } from '../cases/case.ts'
import type { Outcome } from './sides.ts'
import { print } from './sides.ts'

/** Where a second server answers otherwise, although the embedded server is right. */
export interface KnownDifference {
  /** The page that says that the embedded server is right. */
  readonly source: string
  readonly matches: (command: string, embedded: Outcome, other: Outcome) => boolean
}

/** Returns whether a command holds one of these, and is one of these. */
const holds =
  (pattern: RegExp, name = /^/) =>
  (command: string): boolean =>
    name.test(command) && pattern.test(command)

const AGGREGATE = /^\{"aggregate"/

const isError = ({ answer }: Outcome): boolean => answer.startsWith('error')

const WRITE = /^\{"(update|findAndModify)"/

const ARRAY_PATHS = `${MANUAL}/core/field-paths/`

/** Returns the lines of an outcome with the fields of each document in one order. */
function withoutOrder({ answer, documents }: Outcome): string {
  const sort = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sort)
    if (typeof value !== 'object' || value === null || '_bsontype' in value) return value
    if (value instanceof Date) return value
    const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(fields.map(([name, child]) => [name, sort(child)]))
  }
  const lines = answer.split('\n').map((line) => {
    return line.startsWith('{') ? JSON.stringify(sort(JSON.parse(line))) : line
  })
  return [...lines, ...documents.map((document) => print(sort(document)))].join('\n')
}

/** Returns an outcome without how many documents have changed. */
function withoutModified({ answer, documents }: Outcome): string {
  return [answer.replace(/"nModified":\d+/, ''), ...documents.map(print)].join('\n')
}

/** Differences of servers that speak MongoDB's protocol and are none. */
export const KNOWN_DIFFERENCES: Readonly<Record<string, KnownDifference>> = {
  '$count of nothing gives no document': {
    source: `${MANUAL}/reference/operator/aggregation/count/`,
    matches: (command, embedded, other) =>
      holds(/"\$count":"/, AGGREGATE)(command) &&
      embedded.answer === other.answer.replaceAll(/\{"(n|count)":0\}/g, ''),
  },
  'two arrays cannot be in one index': {
    source: `${MANUAL}/core/indexes/index-types/index-multikey/#compound-multikey-indexes`,
    matches: (_command, embedded) => embedded.answer === 'error 171',
  },
  'the path of an expression goes through arrays, and an index is no part of it': {
    source: ARRAY_PATHS,
    matches: (command, embedded) =>
      (!isError(embedded) || /"multi":true|"\$expr"|"\$concatArrays"/.test(command)) &&
      holds(/"\$(a|d|l|m|o\.k)\.\w|"localField":"d\.k"/)(command),
  },
  'a path goes through arrays in distinct': {
    source: `${MANUAL}/reference/command/distinct/`,
    matches: holds(/"key":"\w+\.\w/, /^\{"distinct"/),
  },
  '$project and $unset leave fields out in the items of arrays': {
    source: `${MANUAL}/reference/operator/aggregation/unset/`,
    matches: holds(/"\w+(\.\w+)+":0|"\$unset":"d\.v"/),
  },
  '$ and $[] need an array': {
    source: `${MANUAL}/reference/operator/update/positional-all/`,
    matches: (command, embedded) => embedded.answer === 'error 2' && command.includes('.$'),
  },
  'a path is changed twice, even where no document is found': {
    source: `${MANUAL}/reference/operator/update/`,
    matches: (_command, embedded) => embedded.answer === 'error 40',
  },
  'new fields come in the order of their names': {
    source: `${MANUAL}/reference/operator/update/#update-operators-and-field-order`,
    matches: (command, embedded, other) =>
      command.includes('"$') && withoutOrder(embedded) === withoutOrder(other),
  },
  '$first, $last and $arrayElemAt have no value where there is no item': {
    source: `${MANUAL}/reference/operator/aggregation/first/`,
    matches: (command, embedded) =>
      !isError(embedded) && holds(/"\$(first|last|arrayElemAt)":\[/)(command),
  },
  'null is not found at an index that an array does not have': {
    source: `${SERVER}/05a0f8e98b633a6e6c26c10576a1044f9da161b5/jstests/core/null_query_semantics.js`,
    matches: (command, embedded) =>
      (!isError(embedded) || WRITE.test(command)) &&
      holds(/"[adlm]\.\d(\.k)?":/)(command) &&
      holds(/null|"\$(ne|nin|not|nor|exists)"/)(command),
  },
  'a variable in an array': {
    source: `${MANUAL}/reference/operator/aggregation/let/`,
    matches: (command, _embedded, other) => command.includes('$$v') && other.answer === 'error 1',
  },
  'a whole number is an int, which docs/reference/embedded.md says': {
    source: `${MANUAL}/reference/operator/aggregation/type/`,
    matches: (command, embedded, other) =>
      command.includes('"$type":') ||
      (command.includes('"$mul":') && withoutModified(embedded) === withoutModified(other)),
  },
  'an empty array on the way of a path sorts as null': {
    source: `${SERVER}/master/src/mongo/db/index/btree_key_generator.cpp`,
    matches: (command, embedded) =>
      !isError(embedded) && holds(/"\$?sort":\{[^}]*"d\.[kvw]"/)(command),
  },
  '$push sorts items without the field as null, and leaves equal ones where they are': {
    source: `${MANUAL}/reference/operator/update/sort/`,
    matches: holds(/"\$sort":\{"k":1\}/, /^\{"(update|findAndModify)"/),
  },
  'equal numbers of two types are one value': {
    source: `${MANUAL}/reference/bson-type-comparison-order/`,
    matches: (command, _embedded, other) =>
      command.startsWith('{"distinct"') && other.answer.includes('$numberDecimal'),
  },
  '$all of null finds what null finds': {
    source: `${MANUAL}/reference/operator/query/all/`,
    matches: holds(/"\$all":\[[^\]]*null/),
  },
  'null is found where one item of an array has no such field': {
    source: `${SERVER}/05a0f8e98b633a6e6c26c10576a1044f9da161b5/jstests/core/null_query_semantics.js`,
    matches: (command, embedded) => !isError(embedded) && holds(/"d\.[kvw]":null/)(command),
  },
  'a missing field is not null in a list': {
    source: `${MANUAL}/reference/operator/aggregation/in/`,
    matches: holds(/"\$in":\["\$\w+",\[[^\]]*null/, AGGREGATE),
  },
  '$ is the position in any array of the filter, also for the path of another one': {
    source: `${SERVER}/43b87324302209cbfa240d6c6b520007669e4ea6/jstests/core/write/update/update_arraymatch2.js`,
    matches: (command, _embedded, other) =>
      (other.answer === 'error 2' && holds(/\.\$[".]/, WRITE)(command)) ||
      holds(/"\$gte":null.*"d\.\$\.v"/, WRITE)(command),
  },
  'paths are changed in their order': {
    source: `${MANUAL}/reference/operator/update/#update-operators-and-field-order`,
    matches: (command, _embedded, other) =>
      other.answer === 'error 14' && holds(/"m\.1".*"m\.0"/, WRITE)(command),
  },
  'two parts of an update fail: MongoDB goes through them by their paths': {
    source: `${MANUAL}/reference/operator/update/#update-operators-and-field-order`,
    matches: (command, embedded, other) =>
      isError(embedded) && isError(other) && WRITE.test(command),
  },
  'a value that is no document gives way to one': {
    source: `${MANUAL}/reference/operator/aggregation/addFields/`,
    matches: (command, embedded, other) =>
      command.includes('"o.z":') &&
      !isError(embedded) &&
      (other.answer === 'error 40400' || /"o":[^{[]/.test(other.answer)),
  },
  '$mergeObjects takes documents only': {
    source: `${MANUAL}/reference/operator/aggregation/mergeObjects/`,
    matches: (command, embedded) =>
      embedded.answer === 'error 40400' && command.includes('"$mergeObjects":["$o"'),
  },
  '$lookup by an array in an array finds the same array': {
    source: `${MANUAL}/reference/operator/aggregation/lookup/`,
    matches: (command, embedded) =>
      command.includes('"localField":"gone"') && /"gone":\[\[/.test(embedded.answer),
  },
  'a field is computed although no later stage needs it': {
    source: `${MANUAL}/core/aggregation-pipeline-optimization/`,
    matches: (command, embedded, other) =>
      isError(embedded) && !isError(other) && holds(/"\$sortByCount"/, AGGREGATE)(command),
  },
  '$mod of a long beyond 2^53': {
    source: `${MANUAL}/reference/operator/query/mod/`,
    matches: (command, embedded) =>
      command.includes('"$mod":') && embedded.answer.includes('9007199254740992'),
  },
  'a sort by two fields that are arrays fails': {
    source: `${MANUAL}/reference/method/cursor.sort/`,
    matches: (command, embedded) =>
      embedded.answer === 'error 2' && holds(/"\$?sort":\{"[^"]+":-?1,"(?!_id)/)(command),
  },
  'an upsert has no $expr, also where a document matches': {
    source: `${SERVER}/015c059951272735643231fa2f87640986967ca0/src/mongo/db/ops/parsed_update.cpp`,
    matches: (command, embedded) =>
      embedded.answer === 'error 224' && holds(/"\$expr".*"upsert":true/)(command),
  },
  'an upsert is made before it is inserted, and so fails before a duplicate key': {
    source: `${SERVER}/28eb8d299bd690c0194a28f045bc6c2c7e46c626/jstests/core/write/update/upsert_fields.js`,
    matches: (command, embedded, other) =>
      isError(embedded) && other.answer === 'error 11000' && command.includes('"upsert":true'),
  },
  '$all and $in of one value are a value of an upsert, and a second one is a conflict': {
    source: `${SERVER}/28eb8d299bd690c0194a28f045bc6c2c7e46c626/jstests/core/write/update/upsert_fields.js`,
    matches: (command, embedded) =>
      command.includes('"upsert":true') &&
      (embedded.answer === 'error 54' || command.includes('"$in":[[],[]]')),
  },
  'no operator but $unset takes a path through a value that is no document': {
    source: `${SERVER}/master/src/mongo/db/update/modifier_node.cpp`,
    matches: (_command, embedded) => embedded.answer === 'error 28',
  },
  'a document is made for a field that is computed and has no value': {
    source: `${MANUAL}/reference/operator/aggregation/addFields/`,
    matches: (command, embedded, other) =>
      command.includes('"o.z":') &&
      embedded.answer.replaceAll(',"o":{}', '') === other.answer.replaceAll(',"o":{}', ''),
  },
  'two stages fail: which of the errors comes first is up to the order of the work': {
    source: `${MANUAL}/core/aggregation-pipeline-optimization/`,
    matches: (command, embedded, other) =>
      isError(embedded) && isError(other) && holds(/\},\{"\$.*\},\{"\$/, AGGREGATE)(command),
  },
  'false and 0 are two values': {
    source: `${MANUAL}/reference/bson-type-comparison-order/`,
    matches: (command, embedded) =>
      /"\$pullAll":\{.*\b(true|false|0|1)\b/.test(command) ||
      (command.startsWith('{"distinct"') && /(^|:)(true|false)\b/m.test(embedded.answer)),
  },
  'a replacement takes nothing but the _id of a filter, and so fails by no other field': {
    source: `${SERVER}/28eb8d299bd690c0194a28f045bc6c2c7e46c626/jstests/core/write/update/upsert_fields.js`,
    matches: (command, _embedded, other) =>
      /"(u|update)":\{"[^$]/.test(command) && other.answer === 'error 54',
  },
}
