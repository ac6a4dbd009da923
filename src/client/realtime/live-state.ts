import type { FindArguments } from '../remote-services.ts'
import type { RecordOf } from './live-event.ts'
import type { LiveList } from './live-list.ts'
import type { FoundBy } from './realtime.ts'
import { live } from './realtime.ts'

/** The state of a live query whose `find` resolves to `Result`. */
export interface LiveState<Result = unknown> {
  /** The records, in a new array after each change. Empty until the first snapshot arrives. */
  readonly data: readonly RecordOf<Result>[]
  /** How many records match, `undefined` if `find` does not return pages. */
  readonly total: number | undefined
  /** Whether the first snapshot of the query has not arrived yet. */
  readonly loading: boolean
  /** Why the server rejected the query, or why the connection was lost. The records stay. */
  readonly error: Error | undefined
}

/** The params of `find`. `null` and `undefined` pause the query; without the argument, it finds all records. */
export type LiveArguments<S> =
  FindArguments<S> extends [infer P]
    ? [params: P | null | undefined]
    : [params?: FindArguments<S>[0] | null | undefined]

const EMPTY = { data: [], total: undefined, error: undefined }

/** The state before the first snapshot. */
export const LOADING: LiveState<never> = { ...EMPTY, loading: true }

/** The state without a service or params. */
export const PAUSED: LiveState<never> = { ...EMPTY, loading: false }

/** Returns a string that is the same for params with the same content. */
export function toParamsKey(params: object): string {
  // JSON rejects bigint and leaves out `undefined`, but both make a difference in a query.
  return JSON.stringify(params, (_name, value) =>
    typeof value === 'bigint' || value === undefined ? [String(value)] : value,
  )
}

/** Opens a live query and calls `show` with each state after {@link LOADING}. Returns a function that ends it. */
export function followLive<S extends object>(
  service: S,
  params: object,
  show: (state: LiveState<FoundBy<S>>) => void,
): () => void {
  const controller = new AbortController()
  const { signal } = controller
  const showUntilEnd: typeof show = (state) => {
    if (!signal.aborted) show(state)
  }
  const read = ({ data, total, error }: LiveList<FoundBy<S>>): void => {
    // Calls only ever throw errors.
    showUntilEnd({ data, total, loading: false, error: error as Error | undefined })
  }
  const start = async (): Promise<void> => {
    // A query that ends at once sends no request: React's StrictMode runs each effect twice.
    await undefined
    const list = (await live<object>(service, { ...params, signal })) as LiveList<FoundBy<S>>
    read(list)
    let isDue = false
    list.on('change', () => {
      if (isDue) return
      isDue = true
      // Events that arrive together take a few microtasks each, and Vue would render in between.
      setTimeout(() => {
        isDue = false
        read(list)
      })
    })
  }
  start().catch((error: Error) => showUntilEnd({ ...PAUSED, error }))
  return () => controller.abort()
}
