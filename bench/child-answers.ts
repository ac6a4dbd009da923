import { memoryUsage } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

// What a server's process says to the benchmark that started it.

/**
 * The ports of a server, by what it does on them: the usual requests, queries in brackets, requests with a token
 * that is looked up in a cache or verified each time.
 */
export type PortName = 'records' | 'brackets' | 'bearer' | 'uncached'

export type Ports = { readonly records: number } & Readonly<Partial<Record<PortName, number>>>

/** What the parent may ask: CPU time in ms, and that without the kernel; memory and heap in bytes, after a collection. */
export type Question = 'cpu' | 'user' | 'memory' | 'heap'

/** The first answer holds the ports, every other one the number that was asked for. */
export type Answer = { readonly ports: Ports } | { readonly value: number }

/** Answers what a process has used. */
export const QUESTIONS: Readonly<Record<Question, () => number | Promise<number>>> = {
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  user: () => process.cpuUsage().user / 1_000,
  memory: async () => {
    await collect()
    return memoryUsage.rss()
  },
  heap: async () => {
    await collect()
    return memoryUsage().heapUsed
  },
}

/** Starts a server, tells the parent its ports, and answers what the parent asks until it is gone. */
export async function answerParent(start: () => Promise<Ports>): Promise<void> {
  process.on('disconnect', () => process.exit())
  process.on('message', async (question: Question) => {
    answer({ value: await QUESTIONS[question]() })
  })
  answer({ ports: await start() })
}

function answer(message: Answer): void {
  process.send?.(message)
}

/** Collects until closed sockets, which take a turn of the event loop or two, are gone as well. */
async function collect(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await delay(20)
    globalThis.gc?.()
  }
}
