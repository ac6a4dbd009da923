import { readFileSync } from 'node:fs'
import type { Db, Document } from 'mongodb'
import { MongoServerError } from 'mongodb'
import t from 'tap'
import { EXPRESSION_OPERATORS } from '../../../src/adapter/embedded/aggregation/expressions.ts'
import { ACCUMULATORS } from '../../../src/adapter/embedded/aggregation/group-stage.ts'
import { STAGES } from '../../../src/adapter/embedded/aggregation/pipeline.ts'
import { COMMANDS } from '../../../src/adapter/embedded/dispatch.ts'
import { UPDATE_OPERATORS } from '../../../src/adapter/embedded/updates/update-operators.ts'
import { FIELD_OPERATORS, LOGICAL_OPERATORS } from '../../../src/adapter/matching/filter.ts'
import { openDatabase } from './open-database.ts'

const page = readFileSync(
  new URL('../../../../docs/reference/embedded.md', import.meta.url),
  'utf8',
)
const [, there = ''] = page.split('\n## Supported commands and operators\n')

/** Returns the names of operators in a text: neither `$[]` of an update nor `$$NOW` is one. */
function operatorsIn(text: string): string[] {
  return [...text.matchAll(/(?<!\$)\$[a-z]\w*/gi)].map(([name]) => name)
}

/** What the page says of each kind, and the tables of it. */
const KINDS: Readonly<Record<string, readonly ReadonlyMap<string, unknown>[]>> = {
  Filters: [FIELD_OPERATORS, LOGICAL_OPERATORS],
  // It moves a field, and is the only one that changes two.
  Updates: [UPDATE_OPERATORS, new Map([['$rename', undefined]])],
  Stages: [STAGES],
  Accumulators: [ACCUMULATORS],
  Expressions: [EXPRESSION_OPERATORS],
}

for (const [kind, tables] of Object.entries(KINDS)) {
  t.test(`docs/reference/embedded.md lists what is there, and nothing else: ${kind}`, (t) => {
    const [, after = ''] = there.split(`\n- ${kind}:`)
    const [text = ''] = after.split('\n- ')
    // `$text` has a line of its own.
    const names = tables.flatMap((table) => [...table.keys()]).filter((name) => name !== '$text')
    t.strictSame([...new Set(operatorsIn(text))].toSorted(), [...new Set(names)].toSorted())
    t.end()
  })
}

/** The commands of the server, in the words of the page. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'find, count, distinct, cursors': ['find', 'count', 'distinct', 'getMore', 'killCursors'],
  'insert, update, delete, bulk writes': ['insert', 'update', 'delete'],
  'findOneAnd…': ['findAndModify'],
  aggregation: ['aggregate'],
  '- Unique, sparse, partial': ['createIndexes', 'dropIndexes', 'listIndexes'],
  Sessions: ['endSessions', 'commitTransaction', 'abortTransaction'],
  'The server reports MongoDB 7.0': [
    'hello',
    'ismaster',
    'isMaster',
    'buildInfo',
    'buildinfo',
    'ping',
  ],
  Collections: ['create', 'drop', 'dropDatabase', 'listCollections', 'listDatabases'],
}

t.test('docs/reference/embedded.md has words for each command', (t) => {
  t.strictSame(Object.values(WORDS).flat().toSorted(), [...COMMANDS.keys()].toSorted())
  for (const words of Object.keys(WORDS)) t.ok(page.includes(words), words)
  t.end()
})

/** Resolves to the error of a command. */
async function errorOf(reply: Promise<Document>): Promise<{ code: unknown; message: string }> {
  try {
    const { writeErrors: [error] = [] } = await reply
    return { code: error?.code, message: String(error?.errmsg) }
  } catch (error) {
    if (error instanceof MongoServerError) return { code: error.code, message: error.message }
    throw error
  }
}

const aggregate = (database: Db, ...pipeline: Document[]): Promise<Document> =>
  database.command({ aggregate: 'refused', pipeline, cursor: {} })
const update = (database: Db, u: Document): Promise<Document> =>
  database.command({ update: 'refused', updates: [{ q: {}, u }] })
const find = (database: Db, filter: Document): Promise<Document> =>
  database.command({ find: 'refused', filter })
const expression = (database: Db, value: Document): Promise<Document> =>
  aggregate(database, { $match: { $expr: value } })

type Use = (database: Db, name: string) => Promise<Document>

/** Names that no list of the page has, how each is used, and MongoDB's code for a name that is not known. */
const REFUSALS: Readonly<Record<string, readonly [names: string, use: Use, code: number]>> = {
  filter: [
    `$where $jsonSchema $geoWithin $geoIntersects $near $nearSphere
      $bitsAllSet $bitsAllClear $bitsAnySet $bitsAnyClear`,
    (database, name) =>
      ['$where', '$jsonSchema'].includes(name)
        ? find(database, { [name]: {} })
        : find(database, { a: { [name]: 1 } }),
    2,
  ],
  update: ['$bit', (database, name) => update(database, { [name]: { a: 1 } }), 9],
  stage: [
    `$bucket $bucketAuto $documents $unionWith $setWindowFields $densify $fill $redact $changeStream
      $geoNear $search $indexStats`,
    (database, name) => aggregate(database, { [name]: {} }),
    40324,
  ],
  accumulator: [
    '$top $bottom $firstN $maxN $median $percentile $stdDevPop $stdDevSamp',
    (database, name) => aggregate(database, { $group: { _id: null, x: { [name]: '$a' } } }),
    15952,
  ],
  expression: [
    `$pow $sqrt $rand $firstN $maxN $median $percentile $stdDevPop $stdDevSamp $function
      $trim $ltrim $rtrim $replaceOne $replaceAll $regexMatch $regexFind $regexFindAll $indexOfBytes
      $indexOfCP $strLenBytes $strcasecmp $substr $substrBytes
      $sortArray $zip $indexOfArray $setUnion $setIntersection $setDifference $setEquals $setIsSubset
      $allElementsTrue $anyElementTrue $arrayToObject $objectToArray $getField $setField $unsetField
      $dateAdd $dateSubtract $dateDiff $dateTrunc $dateFromParts $dateToParts $dateFromString
      $convert $toDecimal $bsonSize $binarySize`,
    (database, name) => expression(database, { [name]: '$a' }),
    168,
  ],
}

t.test('what docs/reference/embedded.md does not list is refused by its name', async (t) => {
  const database = await openDatabase(t)
  await database.collection('refused').insertOne({ a: 1 })
  const tables = Object.values(KINDS).flat()
  for (const [kind, [text, use, code]] of Object.entries(REFUSALS)) {
    const names = operatorsIn(text)
    await t.test(`${names.length} of the kind ${kind}`, async (t) => {
      for (const name of names) {
        const error = await errorOf(use(database, name))
        t.equal(error.code, code, `the code of ${name}`)
        t.ok(error.message.includes(name), error.message)
        t.match(error.message, /not supported by the embedded server/)
        const table = kind === 'filter' ? KINDS['Filters'] : tables
        if (kind !== 'accumulator')
          t.notOk(
            table?.some((one) => one.has(name)),
            `no table has ${name}`,
          )
      }
    })
  }
})

/** Commands of MongoDB that the server does not have. */
const REFUSED_COMMANDS: readonly string[] = [
  ...['explain', 'collMod', 'renameCollection', 'mapReduce', 'connectionStatus', 'bulkWrite'],
  ...['refreshSessions', 'killSessions', 'killAllSessions', 'saslStart', 'authenticate'],
  ...['createUser', 'usersInfo', 'collStats', 'dbStats', 'serverStatus'],
]

t.test('commands that the server does not have are refused by their names', async (t) => {
  const database = await openDatabase(t)
  for (const name of REFUSED_COMMANDS) {
    t.notOk(COMMANDS.has(name), `no table has ${name}`)
    const error = await errorOf(database.command({ [name]: 1 }))
    t.strictSame(error, {
      code: 59,
      message: `The command '${name}' is not supported by the embedded server`,
    })
  }
})

type Refusal = readonly [words: string, command: Document, code: number]

const findWith = (fields: Document): Document => ({ find: 'refused', ...fields })
const stage = (one: Document): Document => ({ aggregate: 'refused', pipeline: [one], cursor: {} })
const indexed = (index: Document): Document => ({
  createIndexes: 'refused',
  indexes: [{ name: 'x', key: { x: 1 }, ...index }],
})
const graph = { from: 'x', startWith: '$a', connectFromField: 'a', connectToField: 'a', as: 'x' }
const formatted = (format: string): Document => ({ $dateToString: { date: '$$NOW', format } })

/** What is refused of what is there: its name, a command with it, and its code. */
const OTHERS: readonly Refusal[] = [
  ...['tailable', 'awaitData', 'noCursorTimeout', 'returnKey', 'showRecordId'].map(
    (name): Refusal => [`\`${name}\``, findWith({ [name]: true }), 72],
  ),
  ...['min', 'max'].map((name): Refusal => [`\`${name}\``, findWith({ [name]: { a: 1 } }), 72]),
  [
    '`sort` of an update',
    { update: 'refused', updates: [{ q: {}, u: {}, sort: { a: 1 } }] },
    40415,
  ],
  ['`apiStrict`', { ping: 1, apiVersion: '1', apiStrict: true }, 72],
  ...['on', 'whenMatched', 'whenNotMatched', 'let'].map(
    (name): Refusal => [
      'all of `$merge` but `into`',
      stage({ $merge: { into: 'x', [name]: 'x' } }),
      72,
    ],
  ),
  ['`$out` and `$merge` into another database', stage({ $out: { db: 'x', coll: 'x' } }), 2],
  [
    '`$out` and `$merge` into another database',
    stage({ $merge: { into: { db: 'x', coll: 'x' } } }),
    2,
  ],
  ['`depthField`', stage({ $graphLookup: { ...graph, depthField: 'd' } }), 72],
  [
    '`restrictSearchWithMatch`',
    stage({ $graphLookup: { ...graph, restrictSearchWithMatch: { a: 1 } } }),
    72,
  ],
  ['`$natural` as a hint', findWith({ hint: { $natural: 1 } }), 2],
  ['and as an order', findWith({ sort: { $natural: 1 } }), 2],
  ['hints of sparse and partial indexes', findWith({ hint: 'sparse' }), 2],
  ['`$slice`', findWith({ projection: { a: { $slice: 1 } } }), 2],
  [
    '`$elemMatch` and `$` in projections',
    findWith({ filter: { a: 1 }, projection: { 'a.$': 1 } }),
    16410,
  ],
  [
    'the `limit` of `$filter`',
    stage({ $set: { x: { $filter: { input: [], cond: 1, limit: 1 } } } }),
    9,
  ],
  ...['%U', '%V', '%G', '%u'].map(
    (format): Refusal => [format, stage({ $set: { x: formatted(format) } }), 18536],
  ),
  [
    'names of time zones',
    stage({ $set: { x: { $hour: { date: '$$NOW', timezone: 'Europe/Rome' } } } }),
    40485,
  ],
  [
    '`$toString` of numbers that MongoDB writes with an exponent',
    stage({ $set: { x: { $toString: 1e-9 } } }),
    2,
  ],
  ['`$toDate` of other texts than ISO 8601', stage({ $set: { x: { $toDate: 'May 4 2024' } } }), 2],
  ['Text indexes of any language but `none`', indexed({ key: { x: 'text' } }), 67],
  ['text indexes on `$**`', indexed({ key: { '$**': 'text' }, default_language: 'none' }), 67],
  ['hashed', indexed({ key: { x: 'hashed' } }), 67],
  ['wildcard', indexed({ key: { '$**': 1 } }), 67],
  ['geographic ones', indexed({ key: { x: '2dsphere' } }), 67],
  ['capped', { create: 'x', capped: true, size: 1000 }, 72],
  ['time series', { create: 'x', timeseries: { timeField: 't' } }, 72],
  ['views', { create: 'x', viewOn: 'refused', pipeline: [] }, 72],
  ['a validator', { create: 'x', validator: { a: 1 } }, 72],
  ['an encryption', { create: 'x', encryptedFields: { a: 1 } }, 72],
  ...['caseLevel', 'backwards', 'normalization'].map(
    (name): Refusal => [
      'Collations with more than',
      findWith({ collation: { locale: 'en', [name]: true } }),
      72,
    ],
  ),
  ['`strength` up to 3', findWith({ collation: { locale: 'en', strength: 4 } }), 2],
  [
    'Regular expressions with what only PCRE knows',
    findWith({ filter: { a: { $regex: '\\Ax' } } }),
    51091,
  ],
  ['the option `x`', findWith({ filter: { a: { $regex: 'x', $options: 'x' } } }), 51108],
  [
    'A `$range` of more than a million items',
    stage({ $set: { x: { $range: [0, 2_000_000] } } }),
    2,
  ],
]

t.test('options and forms that the server does not have are refused', async (t) => {
  const database = await openDatabase(t)
  await database.collection('refused').insertOne({ a: [1] })
  await database.collection('refused').createIndex({ s: 1 }, { name: 'sparse', sparse: true })
  for (const [words, command, code] of OTHERS) {
    const error = await errorOf(database.command(command))
    t.equal(error.code, code, `${words}: ${JSON.stringify(command)}: ${error.message}`)
  }
})
