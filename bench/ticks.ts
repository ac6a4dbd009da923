import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { printTable } from './table.ts'

// What process.nextTick() costs before and after a full garbage collection, with an application of Remex
// in the process and without: node build/bench/ticks.js [--gate]

const CHILD = fileURLToPath(new URL('./ticks-child.js', import.meta.url))

/** How many times as long as before a tick may take after a collection. */
const MAX_RATIO = 3

const { values } = parseArgs({
  options: { gate: { type: 'boolean', default: false } },
  strict: false,
})
printTable(
  ['a tick', 'before a collection', 'after it', 'ratio', 'most', ''],
  ['---', '---:', '---:', '---:', '---:', '---'],
)
printRow('Node alone')
const ratio = printRow('with Remex', MAX_RATIO)
if (values.gate && ratio > MAX_RATIO) process.exitCode = 1

/** Measures in two processes, one of which collects, and prints a row. Returns the ratio of the two. */
function printRow(title: string, most?: number): number {
  const kind = most === undefined ? 'node' : 'remex'
  const before = measure(kind, 0)
  const after = measure(kind, 1)
  const outcome =
    most === undefined ? ['', ''] : [`${most}`, after / before > most ? 'MISSED' : 'met']
  const times = [before, after].map((time) => `${time.toFixed(0)} ns`)
  printTable([title, ...times, (after / before).toFixed(1), ...outcome])
  return after / before
}

function measure(kind: string, collections: number): number {
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', CHILD, kind, `${collections}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const time = Number(stdout)
  if (!(time > 0)) throw new Error(`The process of '${kind}' has printed '${stdout}'`)
  return time
}
