/** How a call ended. */
export type Outcome = { readonly result: unknown } | { readonly error: unknown }

/** Resolves to how a call ended, even where it throws at once. */
export async function outcomeOf(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await call() }
  } catch (error) {
    return { error }
  }
}
