import type { AroundHook, Hook, HookContext, Params } from 'remex/core'
import { createApp } from 'remex/core'
import { toMedian, toRatio } from './statistics.ts'

interface Row {
  readonly title: string
  /** How many times as long as a plain async call it should take. */
  readonly target: number
  readonly call: Call
  /** The same hooks put together by hand. What they cost themselves depends on the processor. */
  readonly byHand?: Call
}

type Call = (id: number) => Promise<unknown>

const ROUNDS = 80
const CALLS_PER_ROUND = 10_000

/** How many times as long as by hand a row may take that misses its target. */
const MOST_BY_HAND = 1.5

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
  {
    title: '5 async around hooks',
    target: 12,
    call: toCall({ around: fill(5, aroundHook) }),
    byHand: composeByHand(fill(5, aroundHook)),
  },
  {
    title: '5 sync before hooks',
    target: 5,
    call: toCall({ before: fill(5, beforeHook) }),
    byHand: runByHand(fill(5, beforeHook)),
  },
  {
    title: '20 sync before hooks',
    target: 8,
    call: toCall({ before: fill(20, beforeHook) }),
    byHand: runByHand(fill(20, beforeHook)),
  },
]

function toCall(hooks: { around?: AroundHook[]; before?: Hook[] }): Call {
  const app = createApp<{ records: typeof records }>().use('records', records)
  const service = app.service('records').hooks(hooks)
  return (id) => service.get(id, { query: {} })
}

/** Around hooks as a short program for this one method would compose them. */
function composeByHand(hooks: readonly AroundHook[]): Call {
  const method = async (context: HookContext): Promise<void> => {
    context.result = await records.get(context.id as number, context.params)
  }
  const chain = hooks.reduceRight<(context: HookContext) => Promise<unknown>>(
    (inner, hook) => (context) =>
      hook(context, () => inner(context) as Promise<void>) as Promise<unknown>,
    method,
  )
  return async (id) => {
    const context = createContextByHand(id)
    await chain(context)
    return context.result
  }
}

function runByHand(hooks: readonly Hook[]): Call {
  return async (id) => {
    const context = createContextByHand(id)
    for (const hook of hooks) {
      const returned = hook(context)
      if (returned !== undefined) await returned
    }
    context.result = await records.get(context.id as number, context.params)
    return context.result
  }
}

function createContextByHand(id: number): HookContext {
  const context = { path: 'records', method: 'get', id, params: { query: {} }, event: null }
  return context as unknown as HookContext
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

/**
 * Prints how many times as long as a plain async call a service call takes: the median over all
 * rounds, in each of which all calls are measured in turn. Returns whether every row is within its
 * target, or close enough to the same hooks by hand.
 */
async function run(): Promise<boolean> {
  const plainTimes: number[] = []
  const rows = ROWS.map((row) => ({ row, times: [] as number[], byHand: [] as number[] }))
  for (let round = 0; round < ROUNDS; round += 1) {
    plainTimes.push(await measureRound(plain))
    for (const { row, times, byHand } of rows) {
      times.push(await measureRound(row.call))
      if (row.byHand !== undefined) byHand.push(await measureRound(row.byHand))
    }
  }
  console.log(`plain async call: ${toMedian(plainTimes).toFixed(0)} ns`)
  const table = rows.map(({ row: { title, target }, times, byHand }) => {
    const ratio = toRatio(times, plainTimes).median
    const ratioByHand = byHand.length === 0 ? null : toRatio(times, byHand).median
    const isLeastMet = ratioByHand !== null && ratioByHand <= MOST_BY_HAND
    const verdict = ratio <= target ? 'met' : isLeastMet ? 'least met' : 'MISSED'
    const cells = {
      ns: toMedian(times).toFixed(0),
      ratio: ratio.toFixed(1),
      target: `<= ${target}`,
      'by hand': ratioByHand?.toFixed(2) ?? '',
      most: ratioByHand === null ? '' : `<= ${MOST_BY_HAND}`,
      verdict,
    }
    return [title, cells] as const
  })
  console.table(Object.fromEntries(table))
  return table.every(([, { verdict }]) => verdict !== 'MISSED')
}

const isMet = await run()
if (!isMet && process.argv.includes('--gate')) process.exitCode = 1
