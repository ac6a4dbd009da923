/** The functions that return hooks, with how they are called. */
const CALLS = new WeakMap<object, string>()

/**
 * Makes a function known as one that returns a hook. Registered in the place of that hook it would run
 * as one, with the context for its options.
 * @param call how it is called, for errors: `protect('password')`
 */
export function markHookFactory(factory: object, call: string): void {
  CALLS.set(factory, call)
}

/** Returns how a function that returns a hook is called, `undefined` for any other function. */
export function findFactoryCall(value: object): string | undefined {
  return CALLS.get(value)
}
