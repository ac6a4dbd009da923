import { parseArgs } from 'node:util'
import type { PeerKind } from './peers-child.ts'
import { PEER_COLUMNS } from './peers-columns.ts'
import { installPeers, readVersions } from './peers-install.ts'
import { compareProcesses } from './processes.ts'
import type { RoundSizes, TimesOf } from './rest-measure.ts'
import { measureRounds } from './rest-measure.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent } from './table.ts'

// Compares Remex and others with plain Fastify, all in one run: node build/bench/peers.js [--quick] [--processes=12]
//
// Each server does the same work as its users would write it best. Plain Fastify verifies tokens by
// fast-jwt, and reads brackets by picoquery, as Hono and Elysia do; Feathers has its own ways.

const SIZES: RoundSizes = { rounds: 3, warmUp: 10_000, turns: 20, requests: 400 }
const QUICK_SIZES: RoundSizes = { rounds: 1, warmUp: 6_000, turns: 10, requests: 400 }

const CHILD = new URL('./peers-child.js', import.meta.url)

/** The titles of the servers that are compared with `plain`. */
const TITLES: Readonly<Record<Exclude<PeerKind, 'plain'>, string>> = {
  remex: 'Remex',
  'remex-schemas': 'Remex with schemas',
  'feathers-koa': 'Feathers on Koa',
  'feathers-express': 'Feathers on Express',
  hono: 'Hono',
  elysia: 'Elysia',
}
const PEERS = Object.keys(TITLES) as (keyof typeof TITLES)[]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Compares as many processes of each with each other, in place of the rest. */
    processes: { type: 'string' },
  },
  strict: false,
})
installPeers()
console.log(`\n${readVersions().join(', ')}`)
if (values.processes === undefined) await comparePeers(values.quick ? QUICK_SIZES : SIZES)
else {
  const servers = { file: CHILD, plain: 'plain', titles: TITLES, columns: PEER_COLUMNS } as const
  await compareProcesses<PeerKind>(servers, Number(values.processes))
}

async function comparePeers(sizes: RoundSizes): Promise<void> {
  const timesOf = await measureRounds<PeerKind>(CHILD, ['plain', ...PEERS], PEER_COLUMNS, sizes)
  printTable(
    ['CPU efficiency', ...PEERS.map((kind) => TITLES[kind]), 'plain Fastify'],
    ['---', ...PEERS.map(() => '---:'), '---:'],
  )
  for (const { name } of PEER_COLUMNS) printColumn(name, timesOf)
}

/** Prints a column of the measurement as a row: medians of turns beside each other. */
function printColumn(name: string, timesOf: TimesOf<PeerKind>): void {
  const plain = timesOf(name, 'plain')
  printTable([
    name,
    ...PEERS.map((kind) => toPercent(toRatio(plain, timesOf(name, kind)).median)),
    `${toMedian(plain).toFixed(1)} µs`,
  ])
}
