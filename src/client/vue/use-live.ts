import type { ComputedRef, MaybeRefOrGetter, WatchCallback } from 'vue'
import { computed, getCurrentInstance, onMounted, shallowRef, toRaw, toValue, watch } from 'vue'
import type { LiveArguments, LiveState } from '../realtime/live-state.ts'
import { followLive, LOADING, PAUSED, toParamsKey } from '../realtime/live-state.ts'
import type { FoundBy } from '../realtime/realtime.ts'

/** A {@link LiveState} whose members are refs. */
export type LiveRefs<Result> = {
  readonly [Name in keyof LiveState<Result>]: ComputedRef<LiveState<Result>[Name]>
}

/** The params of `find`, or a ref or getter of them. */
export type LiveSources<S> =
  LiveArguments<S> extends [infer P]
    ? [params: MaybeRefOrGetter<P>]
    : [params?: MaybeRefOrGetter<LiveArguments<S>[0]>]

/**
 * Returns the state of a live query as refs. Service and params may be refs or getters. Params are compared
 * by content: if the content changes, the query closes and a new one opens, which is `loading` at first. The
 * query ends with the component or effect scope in which this is called.
 */
export function useLive<S extends object>(
  service: MaybeRefOrGetter<S | null | undefined>,
  ...values: LiveSources<S>
): LiveRefs<FoundBy<S>> {
  const found = computed(() => toRaw(toValue(service)))
  const params = computed(() => (values.length === 0 ? {} : toValue(values[0])))
  const key = computed(() => found.value && params.value && toParamsKey(params.value))
  const shown = shallowRef<LiveState<FoundBy<S>>>(LOADING)
  const state = computed(() => (key.value ? shown.value : PAUSED))
  const start = (): void => {
    const follow: WatchCallback = (_now, _before, end) => {
      shown.value = LOADING
      if (!found.value || !params.value) return
      end(
        followLive(found.value, params.value, (next) => {
          shown.value = next
        }),
      )
    }
    watch([found, key], follow, { immediate: true })
  }
  // Server rendering never mounts the component, so the query would never end.
  if (getCurrentInstance()) onMounted(start)
  else start()
  return {
    data: computed(() => state.value.data),
    total: computed(() => state.value.total),
    loading: computed(() => state.value.loading),
    error: computed(() => state.value.error),
  }
}
