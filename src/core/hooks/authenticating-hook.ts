/** Hooks that let nobody pass who has proven nothing, with the strategies that may prove it. */
const AUTHENTICATING = new WeakMap<object, readonly string[]>()

/** Marks a hook that lets nobody pass whom none of the strategies proves. Returns it. */
export function markAuthenticating<H extends object>(hook: H, strategies: readonly string[]): H {
  AUTHENTICATING.set(hook, strategies)
  return hook
}

/** Returns the strategies of a hook that is marked so, `undefined` for any other. */
export function toStrategies(hook: object): readonly string[] | undefined {
  return AUTHENTICATING.get(hook)
}
