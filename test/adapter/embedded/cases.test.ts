import { EJSON } from 'bson'
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { ARRAY_UPDATE_CASES } from './cases/array-updates.ts'
import type { Case } from './cases/case.ts'
import { answerOf, fails } from './cases/case.ts'
import { CONVERSION_CASES } from './cases/conversions.ts'
import { EXPRESSION_CASES } from './cases/expressions.ts'
import { FILTER_CASES } from './cases/filters.ts'
import { GROUP_CASES } from './cases/groups.ts'
import { INDEX_CASES } from './cases/indexes.ts'
import { LOOKUP_CASES } from './cases/lookups.ts'
import { OPEN } from './cases/open.ts'
import { PATH_CASES } from './cases/paths.ts'
import { POSITIONAL_UPDATE_CASES } from './cases/positional-updates.ts'
import { PROJECTION_CASES } from './cases/projections.ts'
import { SORT_CASES } from './cases/sorts.ts'
import { STAGE_CASES } from './cases/stages.ts'
import { UPDATE_CASES } from './cases/updates.ts'
import { WRITE_CASES } from './cases/writes.ts'

const SUBJECTS: Readonly<Record<string, readonly Case[]>> = {
  filters: FILTER_CASES,
  paths: PATH_CASES,
  projections: PROJECTION_CASES,
  updates: UPDATE_CASES,
  'updates of arrays': ARRAY_UPDATE_CASES,
  'updates of items': POSITIONAL_UPDATE_CASES,
  expressions: EXPRESSION_CASES,
  conversions: CONVERSION_CASES,
  sorts: SORT_CASES,
  stages: STAGE_CASES,
  groups: GROUP_CASES,
  lookups: LOOKUP_CASES,
  writes: WRITE_CASES,
  indexes: INDEX_CASES,
}

/** Returns what tells a case from all others: its source and its title. */
function nameOf({ source, title }: Case): string {
  const page = source
    .split('/')
    .filter((part) => part !== '')
    .at(-1)
  return `${page}: ${title}`
}

/** Resolves to the answer of one case, which has a collection of its own. */
async function answer(database: Db, name: string, { documents, ask }: Case): Promise<string> {
  const collection = database.collection<{ _id: unknown }>(name)
  const numbered = documents.map((document, index) => ({ _id: index, ...document }))
  if (numbered.length > 0) await collection.insertMany(numbered)
  const given = await answerOf(ask(collection, database))
  await collection.drop()
  return print(given)
}

/** Returns a value as text: with its types, the order of its fields, and `none` for no value. */
function print(value: unknown): string {
  return value === undefined ? 'none' : EJSON.stringify(value, { relaxed: true })
}

const SERVERS = [
  { name: 'the embedded server', open: startEmbeddedMongo, isEmbedded: true },
  ...[process.env.MONGODB_URL ?? []].flat().map((url) => ({
    name: 'the server at MONGODB_URL',
    open: async () => ({ url, close: async () => undefined }),
    isEmbedded: false,
  })),
]

t.setTimeout(600_000)

for (const { name, open, isEmbedded } of SERVERS) {
  t.test(`${name} answers as MongoDB does:`, async (t) => {
    const server = await open()
    const client = new MongoClient(server.url)
    const database = client.db(`remex_cases_${process.pid}`)
    t.teardown(async () => {
      await database.dropDatabase()
      await client.close()
      await server.close()
    })
    for (const [subject, cases] of Object.entries(SUBJECTS)) {
      await t.test(`${cases.length} ${subject}`, async (t) => {
        for (const [number, one] of cases.entries()) {
          const isRefused = isEmbedded && one.refusal !== undefined
          const expected = print(isRefused ? fails(one.refusal ?? 0) : one.answer)
          const given = await answer(database, `${subject.replaceAll(' ', '_')}_${number}`, one)
          const title = `${nameOf(one)} (${one.source})`
          if (isEmbedded && OPEN.has(nameOf(one))) {
            t.not(given, expected, `${title} is still open: it leaves the list once it is right`)
          } else t.equal(given, expected, title)
        }
      })
    }
  })
}

t.test('there are at least 500 cases, each with a name and a source of its own', (t) => {
  const all = Object.values(SUBJECTS).flat()
  const names = all.map(nameOf)
  const refused = all.filter(({ refusal }) => refusal !== undefined)
  t.comment(`${all.length} cases; the embedded server refuses ${refused.length} by name`)
  t.comment(`${OPEN.size} cases that it answers in another way: ${[...OPEN].join('; ')}`)
  t.ok(all.length >= 500, `${all.length} cases`)
  t.strictSame(
    all.filter(({ source }) => !/^https:\/\/\S+$/.test(source)),
    [],
  )
  t.strictSame(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
  t.strictSame(
    [...OPEN].filter((name) => !names.includes(name)),
    [],
  )
  t.end()
})
