import { parseArgs } from 'node:util'
import { installPeers, readVersions } from './peers-install.ts'
import { compareProcesses } from './processes.ts'
import type { ServerKind } from './rest-child.ts'
import type { Column } from './rest-columns.ts'
import { COLUMNS } from './rest-columns.ts'
import type { TimesOf } from './rest-measure.ts'
import { measureRounds, QUICK_ROUND_SIZES, ROUND_SIZES } from './rest-measure.ts'
import { REST_CHILD } from './rest-server.ts'
import { compareStarts } from './rest-starts.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares Remex with plain Fastify under load, on 32 connections:
// node build/bench/rest.js [--quick] [--gate] [--peers] [--column=get] [--processes=12]
//
// Each server does the same work as its users would write it best. Plain Fastify verifies tokens by fast-jwt, and reads
// brackets by picoquery, as Hono and Elysia do. Feathers has its own parsers.

const OWN = { remex: 'Remex', 'remex with schemas': 'with schemas' } as const

const PEERS = {
  'plain without schema': 'Fastify without schema',
  hono: 'Hono',
  elysia: 'Elysia',
  'feathers-koa': 'Feathers on Koa',
  'feathers-express': 'Feathers on Express',
} as const

/** How much less the efficiency with schemas may be. */
const SCHEMAS_COST = 0.03

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    /** Measures other frameworks, too. */
    peers: { type: 'boolean', default: false },
    /** The name of a row; may be repeated. Default: all rows, and the start. */
    column: { type: 'string', multiple: true },
    /** Compares as many processes with each other, in place of the rest. */
    processes: { type: 'string' },
  },
  strict: false,
})
const isQuick = values.quick === true
const others: Partial<Record<ServerKind, string>> = values.peers === true ? PEERS : {}
const names = Array.isArray(values.column) ? values.column : null
const columns = COLUMNS.filter(
  ({ name, isOwn }) =>
    (names === null || names.includes(name)) && !(values.peers && isOwn === true),
)
const titles: Readonly<Partial<Record<ServerKind, string>>> = { ...OWN, ...others }
const kinds = Object.keys(titles) as ServerKind[]

if (values.peers === true) {
  installPeers()
  console.log(`\n${readVersions().join(', ')}`)
}
if (values.processes !== undefined) {
  const servers = { file: REST_CHILD, plain: 'plain', titles, columns } as const
  await compareProcesses<ServerKind>(servers, Number(values.processes))
} else {
  const areMet = await compareRequests()
  const isStartMet = names !== null || (await compareStarts(isQuick ? 5 : 15))
  if (values.gate && !(areMet && isStartMet)) process.exitCode = 1
}

async function compareRequests(): Promise<boolean> {
  const sizes = isQuick ? QUICK_ROUND_SIZES : ROUND_SIZES
  const timesOf = await measureRounds(REST_CHILD, ['plain', ...kinds], columns, sizes)
  printTable(
    [
      'CPU efficiency',
      ...kinds.map((kind) => titles[kind] ?? kind),
      'target',
      'least',
      '',
      'quartiles',
    ],
    ['---', ...kinds.map(() => '---:'), '---:', '---:', '---', '---:'],
  )
  const areMet = columns.map((column) => printEfficiency(column, timesOf))
  printTable(
    ['µs of CPU time, user + system', 'plain', ...kinds.map((kind) => titles[kind] ?? kind)],
    ['---', '---:', ...kinds.map(() => '---:')],
  )
  for (const { name } of columns) printTimes(name, timesOf)
  return areMet.every(Boolean)
}

/** Prints a column of the measurement as a row. Returns whether the least is met, with schemas and without. */
function printEfficiency({ name, target, least }: Column, timesOf: TimesOf<ServerKind>): boolean {
  const plain = timesOf(name, 'plain')
  const [own, schemas, ...peers] = kinds.map((kind) => toRatio(plain, timesOf(name, kind)))
  if (own === undefined || schemas === undefined) return false
  printTable([
    ...[name, toPercent(own.median), toPercent(schemas.median)],
    ...peers.map(({ median }) => toPercent(median)),
    ...[toPercent(target), toPercent(least), toVerdict(own.median, target, least)],
    `${toPercent(own.low)} to ${toPercent(own.high)}`,
  ])
  if (least === undefined) return true
  return own.median >= least && schemas.median >= least - SCHEMAS_COST
}

function printTimes(name: string, timesOf: TimesOf<ServerKind>): void {
  const toText = (kind: ServerKind): string => {
    const user = toMedian(timesOf(name, kind, 'user'))
    return `${user.toFixed(1)} + ${(toMedian(timesOf(name, kind)) - user).toFixed(1)}`
  }
  printTable([name, ...(['plain', ...kinds] as const).map(toText)])
}
