import { performance } from 'node:perf_hooks'
import { openLoad } from './load.ts'
import { COLUMNS, checkAnswer } from './rest-columns.ts'
import { startServer } from './rest-server.ts'
import type { StartKind } from './rest-starts-child.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable } from './table.ts'

// Compares how servers start, and how much memory they take.

const MAX_START_RATIO = 1.2
const MAX_EXTRA_MEMORY_MB = 10

const CHILD = new URL('./rest-starts-child.js', import.meta.url)

/** How many requests the memory after load is measured behind. */
const REQUESTS = 20_000

/** What a process takes to start and to answer. */
interface Start {
  /** CPU time from the start of the process to the first answer, in ms. */
  readonly cpuMs: number
  /** The same by the clock, which counts what else the machine does. */
  readonly elapsedMs: number
  readonly idleMb: number
  readonly loadedMb: number
}

/** Prints what the start and the memory of Remex cost beside those of plain Fastify. Resolves to whether limits are met. */
export async function compareStarts(count: number): Promise<boolean> {
  const starts: Record<StartKind, Start[]> = { plain: [], remex: [], 'remex with schemas': [] }
  const kinds = Object.keys(starts) as StartKind[]
  for (let index = 0; index < count; index += 1) {
    for (const kind of kinds) starts[kind].push(await measureStart(kind))
  }
  printTable(
    ['process', 'Remex', 'with schemas', 'most', '', 'plain', 'Remex', 'with schemas'],
    ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:'],
  )
  const columnsOf = (field: keyof Start): number[][] =>
    kinds.map((kind) => starts[kind].map((start) => start[field]))
  const printRatio = (title: string, field: keyof Start, most: number | null): boolean => {
    const [plain = [], ...own] = columnsOf(field)
    const ratios = own.map((times) => toRatio(times, plain).median)
    const isMet = most === null || ratios.every((ratio) => ratio <= most)
    printTable([
      ...[title, ...ratios.map((ratio) => `${ratio.toFixed(2)} times`)],
      ...(most === null ? ['', 'for information'] : [`${most} times`, isMet ? 'met' : 'MISSED']),
      ...[plain, ...own].map((times) => `${toMedian(times).toFixed(0)} ms`),
    ])
    return isMet
  }
  const printExtra = (title: string, field: keyof Start): boolean => {
    const [plain = 0, ...own] = columnsOf(field).map(toMedian)
    const isMet = own.every((memory) => memory - plain <= MAX_EXTRA_MEMORY_MB)
    printTable([
      ...[title, ...own.map((memory) => `+ ${(memory - plain).toFixed(1)} MB`)],
      ...[`+ ${MAX_EXTRA_MEMORY_MB} MB`, isMet ? 'met' : 'MISSED'],
      ...[plain, ...own].map((memory) => `${memory.toFixed(1)} MB`),
    ])
    return isMet
  }
  return [
    printRatio('cold start, CPU time', 'cpuMs', MAX_START_RATIO),
    printRatio('cold start, by the clock', 'elapsedMs', null),
    printExtra('idle memory', 'idleMb'),
    printExtra('memory after load', 'loadedMb'),
  ].every(Boolean)
}

async function measureStart(kind: StartKind): Promise<Start> {
  const [column] = COLUMNS
  if (column === undefined) throw new TypeError('There is no column to start with')
  const from = performance.now()
  const server = await startServer(CHILD, kind)
  try {
    const load = await openLoad(server.ports.records)
    checkAnswer(column, kind, await load.send(column.request, 1))
    const elapsedMs = performance.now() - from
    const cpuMs = await server.ask('cpu')
    const idleMb = (await server.ask('memory')) / 2 ** 20
    await load.send(column.request, REQUESTS)
    const loadedMb = (await server.ask('memory')) / 2 ** 20
    load.close()
    return { cpuMs, elapsedMs, idleMb, loadedMb }
  } finally {
    await server.stop()
  }
}
