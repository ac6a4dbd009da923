import { useEffect, useMemo, useState } from 'react'
import type { LiveArguments, LiveState } from '../realtime/live-state.ts'
import { followLive, LOADING, PAUSED, toParamsKey } from '../realtime/live-state.ts'
import type { FoundBy } from '../realtime/realtime.ts'

/** A state, and the query that it belongs to. */
interface Shown<Result> {
  readonly query: object
  readonly state: LiveState<Result>
}

/**
 * Returns the records of a live query, and renders the component again after each change. Params are
 * compared by content: other content closes the query and opens a new one, which is `loading` at first.
 * The query ends when the component is unmounted.
 */
export function useLive<S extends object>(
  service: S | null | undefined,
  ...values: LiveArguments<S>
): LiveState<FoundBy<S>> {
  const params = values.length === 0 ? {} : values[0]
  const key = service && params ? toParamsKey(params) : undefined
  // An object, not the key: what an earlier query with the same key has shown is out of date.
  const query = useMemo(() => ({}), [service, key])
  const [shown, setShown] = useState<Shown<FoundBy<S>> | undefined>(undefined)
  useEffect(() => {
    if (!service || !params) return undefined
    // React runs the effect of the same query again when it shows a hidden tree.
    setShown((it) => (it?.query === query ? { query, state: { ...it.state, loading: true } } : it))
    return followLive(service, params, (state) => setShown(() => ({ query, state })))
  }, [query])
  if (key === undefined) return PAUSED
  return shown?.query === query ? shown.state : LOADING
}
