import { parseArgs } from 'node:util'
import { createInterfaces, createSchemas } from './schema-types-program.ts'
import { printTable } from './table.ts'
import { measureTypeCheck } from './type-check.ts'

// What the compiler needs for a program with 100 schemas, each with data, queries, checks and a service,
// beside one with interfaces in their place: node build/bench/schema-types.js [--schemas 100] [--gate]

/** How many times as long as an interface a schema may take; the libraries themselves are apart. */
const MAX_RATIO = 5
const MAX_MEGABYTES = 400

const { values } = parseArgs({
  options: {
    schemas: { type: 'string', default: '100' },
    gate: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})

const count = Number(values.schemas)
const programs = [
  ['interfaces', createInterfaces],
  ['schemas', createSchemas],
] as const

printTable(['', 'services', 'seconds', 'memory'], ['---', '---', '---', '---'])
const costs = programs.map(([title, create]) => {
  const one = measure(title, create(1), 1)
  const many = measure(title, create(count), count)
  return { seconds: (many.seconds - one.seconds) / (count - 1), megabytes: many.megabytes }
})
const [plain, typed] = costs.map(({ seconds }) => seconds)
const ratio = (typed ?? Number.NaN) / (plain ?? Number.NaN)
const times = costs.map(({ seconds }) => `${(1000 * seconds).toFixed(1)} ms`)
console.log(
  `\nOne more interface takes ${times[0]}, one more schema ${times[1]}: ${ratio.toFixed(1)} times`,
)
console.log(`as long, at most ${MAX_RATIO} times; at most ${MAX_MEGABYTES} MB.`)
const isMet = ratio <= MAX_RATIO && costs.every(({ megabytes }) => megabytes <= MAX_MEGABYTES)
if (values.gate && !isMet) process.exitCode = 1

function measure(title: string, files: Readonly<Record<string, string>>, services: number) {
  const cost = measureTypeCheck(files)
  const memory = `${cost.megabytes.toFixed(0)} MB`
  printTable([title, String(services), cost.seconds.toFixed(2), memory])
  return cost
}
