import { parseArgs } from 'node:util'
import { printTable } from './table.ts'
import { measureTypeCheck } from './type-check.ts'
import { createClientProgram, createServer } from './types-program.ts'

// What the compiler needs for a server of 200 services and for a client of it, beside those of one
// service: node build/bench/types.js [--services 200] [--gate]

const MAX_SECONDS = 5
const MAX_MEGABYTES = 400

const { values } = parseArgs({
  options: {
    services: { type: 'string', default: '200' },
    gate: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})

const columns = ['', 'services', 'seconds', 'memory']
printTable(
  columns,
  columns.map(() => '---'),
)
const counts = [1, Number(values.services)]
const programs = [
  ['server', createServer],
  ['client', createClientProgram],
] as const
for (const [title, create] of programs) {
  for (const count of counts) {
    const { seconds, megabytes } = measureTypeCheck(create(count))
    printTable([title, String(count), seconds.toFixed(2), `${megabytes.toFixed(0)} MB`])
    const isMet = seconds <= MAX_SECONDS && megabytes <= MAX_MEGABYTES
    if (values.gate && !isMet) process.exitCode = 1
  }
}
console.log(`\nAt most ${MAX_SECONDS} s and ${MAX_MEGABYTES} MB.`)
