import type { AroundHook, Hook, Params } from 'remex/core'
import { createApp } from 'remex/core'

interface Row {
  readonly title: string
  /** How many times as long as a plain async call it may take. */
  readonly target: number
  readonly call: Call
}

type Call = (id: number) => Promise<unknown>

const ROUNDS = 40
const CALLS_PER_ROUND = 20_000

const records = {
  async get(id: number, _params: Params): Promise<{ id: number }> {
    return { id }
  },
}
const plain: Call = (id) => records.get(id, { query: {} })

const aroundHook: AroundHook = async (_context, next) => {
  await next()
}
const beforeHook: Hook = (context) => {
  context.event = null
}

const ROWS: readonly Row[] = [
  { title: 'no hooks', target: 2, call: toCall({}) },
  { title: '5 async around hooks', target: 12, call: toCall({ around: fill(5, aroundHook) }) },
  { title: '5 sync before hooks', target: 5, call: toCall({ before: fill(5, beforeHook) }) },
  { title: '20 sync before hooks', target: 8, call: toCall({ before: fill(20, beforeHook) }) },
]

function toCall(hooks: { around?: AroundHook[]; before?: Hook[] }): Call {
  const app = createApp<{ records: typeof records }>().use('records', records)
  const service = app.service('records').hooks(hooks)
  return (id) => service.get(id, { query: {} })
}

function fill<T>(count: number, hook: T): T[] {
  return Array.from({ length: count }, () => hook)
}

/** Returns the nanoseconds of one call, over a round. */
async function measureRound(call: Call): Promise<number> {
  const start = process.hrtime.bigint()
  for (let id = 0; id < CALLS_PER_ROUND; id += 1) await call(id)
  return Number(process.hrtime.bigint() - start) / CALLS_PER_ROUND
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/**
 * Prints how many times as long as a plain async call a service call takes: the median over all
 * rounds, in each of which all calls are measured in turn. Returns whether every target is met.
 */
async function run(): Promise<boolean> {
  const bases: number[] = []
  const rows = ROWS.map((row) => ({ ...row, times: [] as number[], ratios: [] as number[] }))
  for (let round = 0; round < ROUNDS; round += 1) {
    const base = await measureRound(plain)
    bases.push(base)
    for (const { call, times, ratios } of rows) {
      const time = await measureRound(call)
      times.push(time)
      ratios.push(time / base)
    }
  }
  console.log(`plain async call: ${median(bases).toFixed(0)} ns`)
  const table = rows.map(({ title, target, times, ratios }) => {
    const ratio = median(ratios)
    const met = ratio <= target
    return [
      title,
      { ns: median(times).toFixed(0), ratio: ratio.toFixed(1), target: `<= ${target}`, met },
    ] as const
  })
  console.table(Object.fromEntries(table))
  return table.every(([, { met }]) => met)
}

const isMet = await run()
if (!isMet && process.argv.includes('--gate')) process.exitCode = 1
