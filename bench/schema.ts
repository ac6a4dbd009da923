import { parseArgs } from 'node:util'
import { Ajv } from 'ajv'
import { parse, stringify } from 'qs'
import { keywordObjectId, ObjectIdSchema } from 'remex/mongodb'
import { querySyntax, Type } from 'remex/schema'
import { readLists } from '../src/core/schema/queries/query-lists.ts'
import { toMedian } from './statistics.ts'
import { printTable } from './table.ts'

// The processor time that a query from outside costs by its schema, compared with what qs takes to read
// it from the URL: node build/bench/schema.js [--gate]

const ROUNDS = 60
const CALLS_PER_ROUND = 2_000
/** How many times as long as qs the check may take. */
const MOST = 0.8

const { values } = parseArgs({
  options: {
    gate: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})

const country = Type.Object({
  _id: ObjectIdSchema(),
  name: Type.String(),
  code: Type.String({ pattern: '^[A-Z]{2}$' }),
  area: Type.Number({ minimum: 0 }),
  people: Type.Integer(),
  landlocked: Type.Boolean(),
  region: Type.Union([Type.Literal('Africa'), Type.Literal('Europe'), Type.Literal('Asia')]),
  languages: Type.Array(Type.String()),
  motto: Type.Optional(Type.String()),
  capital: Type.Object({ name: Type.String(), people: Type.Integer() }),
})

const schema = querySyntax(country, { name: { $regex: Type.String(), $options: Type.String() } })
const ajv = new Ajv({ coerceTypes: true })
ajv.addKeyword(keywordObjectId)
const before = process.cpuUsage()
const validate = ajv.compile(schema)
const compiled = toMicroseconds(process.cpuUsage(before))

/** A query of seven names, as it comes out of a query string. */
const createQuery = (): Record<string, unknown> => ({
  name: { $regex: 'land', $options: 'i' },
  area: { $gt: '1000000' },
  landlocked: 'true',
  region: { $in: ['Africa', 'Europe'] },
  $sort: { area: '-1' },
  $limit: '5',
  $select: ['name', 'area'],
})

/** As applications in URLs write it: with alternatives, ids, and what is inside of others. */
const createNested = (): Record<string, unknown> => ({
  _id: { $in: ['507f1f77bcf86cd799439011', '507f1f77bcf86cd799439012'] },
  $or: [{ area: '5' }, { $and: [{ people: { $lt: '9' } }, { motto: { $ne: 'x' } }] }],
  'capital.people': { $gte: '100' },
  languages: 'fr',
  code: 'CH',
  $limit: '5',
  $skip: '10',
})

const rows = [
  ['7 names', createQuery, check],
  ['7 names, lists read before', createQuery, readAndCheck],
  ['7 names, nested', createNested, check],
] as const

printTable(
  ['a valid query', 'qs, µs', 'check, µs', 'ratio', 'at most', ''],
  ['---', '---:', '---:', '---:', '---:', '---'],
)
for (const [title, create, run] of rows) {
  const text = stringify(create())
  const reading = measure(
    () => text,
    (raw) => void parse(raw, { depth: 10 }),
  )
  const cost = measure(create, run)
  const ratio = cost / reading
  const isMet = ratio <= MOST
  const costs = [reading, cost, ratio].map((value) => value.toFixed(2))
  printTable([title, ...costs, String(MOST), isMet ? 'met' : 'MISSED'])
  if (values.gate && !isMet) process.exitCode = 1
}
console.log(`\nCompiling the schema once took ${(compiled / 1000).toFixed(0)} ms of CPU.`)

function check(query: Record<string, unknown>): void {
  if (!validate(query))
    throw new Error(`The query is not valid: ${ajv.errorsText(validate.errors)}`)
}

function readAndCheck(query: Record<string, unknown>): void {
  check(readLists(query))
}

/** Returns the processor time of one call. What it takes is made before: queries are converted in place. */
function measure<Input>(create: () => Input, run: (input: Input) => void): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const inputs = Array.from({ length: CALLS_PER_ROUND }, create)
    const start = process.cpuUsage()
    for (const input of inputs) run(input)
    return toMicroseconds(process.cpuUsage(start)) / CALLS_PER_ROUND
  })
  return toMedian(times.slice(ROUNDS / 3))
}

function toMicroseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}
