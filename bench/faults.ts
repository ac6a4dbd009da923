import { parseArgs } from 'node:util'
import { measureBigPage } from './big-page.ts'
import type { Outcome } from './fault-cases.ts'
import { FAULT_CASES } from './fault-cases.ts'
import { printTable } from './table.ts'

// How long callers wait while the database is away, slow or changes its primary, by real clocks, and
// what is lost. Takes about 50 seconds: node --expose-gc build/bench/faults.js [--gate]

const { values } = parseArgs({ options: { gate: { type: 'boolean', default: false } } })

let isMissed = false

printTable(
  ['row', 'what happens', 'measured', 'most', 'verdict'],
  ['---', '---', '---', '---', '---'],
)
for (const { row, what, run } of FAULT_CASES) {
  for (const outcome of await run()) report(row, what, outcome)
}
report('PAGE-2', 'the event loop during a page of 10,000 records of 1 kB', await measureBigPage())
// What was broken may keep the process busy for a while.
process.exit(values.gate && isMissed ? 1 : 0)

function report(row: string, what: string, { measured, most, unit, note = '' }: Outcome): void {
  const isMet = most === null || measured <= most
  isMissed ||= !isMet
  const verdict = most === null ? 'for information' : isMet ? 'met' : 'MISSED'
  const toText = (value: number): string => `${value.toFixed(unit === 's' ? 2 : 0)} ${unit}`
  printTable([row, what + note, toText(measured), most === null ? '' : toText(most), verdict])
}
