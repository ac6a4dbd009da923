import { memoryUsage } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

// Runs one server in a process of its own and answers what the parent asks about the process. What
// a server does not need is not loaded: start and memory are measured as well.

/** The servers that are compared; `plain idle` has no second port for brackets. */
export type ServerKind = 'remex' | 'plain' | 'plain without schema' | 'plain idle'

/** Ports of a server; plain Fastify has its query parser of choice on a second one. */
export interface Ports {
  readonly records: number
  readonly brackets: number
}

/** What the parent may ask: CPU time in ms; memory and heap in bytes, after a collection. */
export type Question = 'cpu' | 'memory' | 'heap'

/** The first answer holds the ports, every other one the number that was asked for. */
export type Answer = { readonly ports: Ports } | { readonly value: number }

const KINDS: Readonly<Record<ServerKind, () => Promise<Ports>>> = {
  remex: async () => {
    const { startRemex } = await import('./rest-remex.ts')
    return toPorts(await startRemex())
  },
  plain: () => startPlainTwice(true),
  'plain without schema': () => startPlainTwice(false),
  'plain idle': async () => {
    const { startPlain } = await import('./rest-plain.ts')
    return toPorts(await startPlain({ hasSchema: true }))
  },
}

const QUESTIONS: Readonly<Record<Question, () => number | Promise<number>>> = {
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  memory: async () => {
    await collect()
    return memoryUsage.rss()
  },
  heap: async () => {
    await collect()
    return memoryUsage().heapUsed
  },
}

async function startPlainTwice(hasSchema: boolean): Promise<Ports> {
  const { startPlain } = await import('./rest-plain.ts')
  const { parse } = await import('qs')
  const records = await startPlain({ hasSchema })
  const brackets = await startPlain({ hasSchema, parseQuery: (text) => parse(text) })
  return { records, brackets }
}

function toPorts(port: number): Ports {
  return { records: port, brackets: port }
}

/** Collects until closed sockets, which take a turn of the event loop or two, are gone as well. */
async function collect(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await delay(20)
    globalThis.gc?.()
  }
}

function answer(message: Answer): void {
  process.send?.(message)
}

process.on('disconnect', () => process.exit())
process.on('message', async (question: Question) => {
  answer({ value: await QUESTIONS[question]() })
})
const start = KINDS[process.argv[2] as ServerKind]
answer({ ports: await start() })
