import { useEffect, useMemo, useState } from 'react'
import type { LiveArguments, LiveState } from '../realtime/live-state.ts'
import { followLive, LOADING, PAUSED, toParamsKey } from '../realtime/live-state.ts'
import type { FoundBy } from '../realtime/realtime.ts'

/** A state and its query. */
interface Shown<Result> {
  readonly query: object
  readonly state: LiveState<Result>
}

/**
 * Returns the state of a live query, and renders the component again after each change. Params are compared
 * by content: if the content changes, the query closes and a new one opens, which is `loading` at first. The
 * query ends when the component is unmounted.
 */
export function useLive<S extends object>(
  service: S | null | undefined,
  ...values: LiveArguments<S>
): LiveState<FoundBy<S>> {
  const params = values.length === 0 ? {} : values[0]
  const key = service && params ? toParamsKey(params) : undefined
  // An object, not the key: the records of an earlier query with the same key are out of date.
  const query = useMemo(() => ({}), [service, key])
  const [shown, setShown] = useState<Shown<FoundBy<S>> | undefined>(undefined)
  useEffect(() => {
    if (!service || !params) return undefined
    // When React shows a hidden tree again, it runs the effect again for the same query.
    setShown((it) => (it?.query === query ? { query, state: { ...it.state, loading: true } } : it))
    return followLive(service, params, (state) => setShown(() => ({ query, state })))
  }, [query])
  if (key === undefined) return PAUSED
  return shown?.query === query ? shown.state : LOADING
}
