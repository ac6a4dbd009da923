import { parseArgs } from 'node:util'
import type { AuthKind } from './auth-child.ts'
import { measureSessions } from './auth-sessions.ts'
import { OWN_RECORD, REFUSAL, SECRET, toSignedRequest } from './auth-token.ts'
import type { RoundSizes } from './rest-measure.ts'
import { measureRounds } from './rest-measure.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// What a request with a token costs: node build/bench/auth.js [--quick] [--gate]
//
// `bearer token + user` is a protected get: the token is verified, its user looked up in memory, a
// record answered. Plain Fastify does that by hand: fast-jwt with a key prepared once and its cache
// off, as that one hands the same payload to everybody; a look-up in a Map; a response schema. All
// requests bring the same token, as those of one client do, so that Remex knows it from its own
// cache; the column `no cache` has that cache off. `bad token 401` is a token signed by another
// secret, which is verified anew in each request everywhere, and answered with the same bytes.
// Measured is the CPU time of the server's process, as in bench/rest.ts. What sessions cost is in
// bench/auth-sessions.ts, which runs behind it.

const KINDS: readonly AuthKind[] = ['plain', 'remex', 'remex without cache']
const CHILD = new URL('./auth-child.js', import.meta.url)

const SIZES: RoundSizes = { rounds: 4, warmUp: 8_000, turns: 24, requests: 300 }
const QUICK_SIZES: RoundSizes = { ...SIZES, rounds: 2, turns: 10 }

const COLUMNS = [
  {
    ...{ name: 'bearer token + user', target: 0.95, least: 0.8, status: 200 },
    ...{ request: toSignedRequest(SECRET), body: OWN_RECORD ?? {} },
  },
  {
    ...{ name: 'bad token 401', target: 1.5, least: 1, status: 401 },
    ...{ request: toSignedRequest(`not ${SECRET}`), body: REFUSAL },
  },
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
  strict: false,
})
const isQuick = values.quick === true
const timesOf = await measureRounds(CHILD, KINDS, COLUMNS, isQuick ? QUICK_SIZES : SIZES)
printTable(
  ['CPU efficiency', 'Remex', 'target', 'least', '', 'quartiles', 'no cache', 'plain', 'Remex'],
  ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:', '---:'],
)
const areMet = COLUMNS.map(({ name, target, least }) => {
  const [plain, remex] = [timesOf(name, 'plain'), timesOf(name, 'remex')]
  const { median, low, high } = toRatio(plain, remex)
  printTable([
    ...[name, toPercent(median), toPercent(target), toPercent(least)],
    ...[toVerdict(median, target, least), `${toPercent(low)} to ${toPercent(high)}`],
    toPercent(toRatio(plain, timesOf(name, 'remex without cache')).median),
    ...[plain, remex].map((times) => `${toMedian(times).toFixed(1)} µs`),
  ])
  return median >= least
})
const isMet = await measureSessions({ isQuick })
if (values.gate && !(isMet && areMet.every(Boolean))) process.exitCode = 1
