import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { startProtectedPlain } from './auth-plain.ts'
import { startProtectedRemex } from './auth-remex.ts'
import { OWN_RECORD, REFUSAL, SECRET, toSignedRequest } from './auth-token.ts'
import type { Answer } from './load.ts'
import { pinLoad } from './pin.ts'
import { STEADY_FLAGS } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'
import type { TurnSizes, TurnTimes } from './turns.ts'
import { measureTurns } from './turns.ts'

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

type Kind = 'plain' | 'remex' | 'remex without cache'

const KINDS: readonly Kind[] = ['plain', 'remex', 'remex without cache']

/** Each returns its port. */
const SERVERS: Readonly<Record<Kind, () => Promise<number>>> = {
  plain: () => startProtectedPlain({ hasCache: false }),
  remex: () => startProtectedRemex({ hasCache: true }),
  'remex without cache': () => startProtectedRemex({ hasCache: false }),
}

interface Column {
  readonly name: string
  readonly target: number
  readonly least: number
  readonly request: Buffer
  readonly status: number
  readonly body: unknown
}

const SIZES: TurnSizes = { warmUp: 8_000, turns: 24, requests: 300 }
const QUICK_SIZES: TurnSizes = { ...SIZES, turns: 10 }

// Only where the load comes from: the servers are processes of this file too.
const pinServer = process.send === undefined ? pinLoad() : null

if (process.send === undefined) await compare()
else await serve(process.argv[2] as Kind)

async function compare(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
    },
    strict: false,
  })
  const columns = createColumns()
  const rounds: TurnTimes<Kind>[][] = []
  for (let index = 0; index < (values.quick ? 2 : 4); index += 1) {
    rounds.push(await measureRound(columns, values.quick ? QUICK_SIZES : SIZES))
  }
  printTable(
    ['CPU efficiency', 'Remex', 'target', 'least', '', 'quartiles', 'no cache', 'plain', 'Remex'],
    ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:', '---:'],
  )
  const areMet = columns.map((column, index) =>
    printColumn(
      column,
      rounds.flatMap((round) => round[index] ?? []),
    ),
  )
  const { measureSessions } = await import('./auth-sessions.ts')
  const isMet = await measureSessions({ isQuick: values.quick === true })
  if (values.gate && !(isMet && areMet.every(Boolean))) process.exitCode = 1
}

function createColumns(): readonly Column[] {
  const get = { name: 'bearer token + user', target: 0.95, least: 0.8, status: 200 }
  const bad = { name: 'bad token 401', target: 1.5, least: 1, status: 401 }
  return [
    { ...get, request: toSignedRequest(SECRET), body: OWN_RECORD },
    { ...bad, request: toSignedRequest(`not ${SECRET}`), body: REFUSAL },
  ]
}

/** Each round has fresh processes. Returns the times of each column. */
async function measureRound(
  columns: readonly Column[],
  sizes: TurnSizes,
): Promise<TurnTimes<Kind>[]> {
  const servers = await Promise.all(KINDS.map(startServer))
  const times: TurnTimes<Kind>[] = []
  for (const column of columns) {
    const measured = servers.map((server) => ({
      ...server,
      request: column.request,
      check: (answer: Answer) => checkAnswer(column, server.kind, answer),
    }))
    times.push(await measureTurns(measured, sizes))
  }
  for (const { child } of servers) child.kill()
  return times
}

/** @throws {Error} the answer is not the one that the column asks for */
function checkAnswer(column: Column, kind: Kind, { status, body }: Answer): void {
  const isExpected = isDeepStrictEqual(JSON.parse(body.toString()), column.body)
  if (status === column.status && isExpected) return
  throw new Error(`'${column.name}' of ${kind} answers ${status} ${body}`)
}

/** Prints a column as a row. Returns whether the least is met. */
function printColumn({ name, target, least }: Column, rounds: readonly TurnTimes<Kind>[]): boolean {
  const timesOf = (kind: Kind): number[] => rounds.flatMap((round) => round.get(kind) ?? [])
  const [plain, remex] = [timesOf('plain'), timesOf('remex')]
  const { median, low, high } = toRatio(plain, remex)
  printTable([
    ...[name, toPercent(median), toPercent(target), toPercent(least)],
    ...[toVerdict(median, target, least), `${toPercent(low)} to ${toPercent(high)}`],
    toPercent(toRatio(plain, timesOf('remex without cache')).median),
    ...[plain, remex].map((times) => `${toMedian(times).toFixed(1)} µs`),
  ])
  return median >= least
}

interface Server {
  readonly kind: Kind
  readonly port: number
  readonly child: ChildProcess
  /** CPU time of the process so far, in ms. */
  askCpu(): Promise<number>
}

async function startServer(kind: Kind): Promise<Server> {
  const child = fork(fileURLToPath(import.meta.url), [kind], { execArgv: [...STEADY_FLAGS] })
  const nextNumber = async (): Promise<number> => (await once(child, 'message'))[0]
  const port = await nextNumber()
  pinServer?.(child.pid)
  return {
    kind,
    port,
    child,
    askCpu() {
      const answer = nextNumber()
      child.send('cpu')
      return answer
    },
  }
}

/** What a child process does: it listens, and answers how much CPU time it has taken. */
async function serve(kind: Kind): Promise<void> {
  process.on('disconnect', () => process.exit())
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.((user + system) / 1_000)
  })
  process.send?.(await SERVERS[kind]())
}
