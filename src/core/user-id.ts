import type { Params } from './params.ts'

/** Returns the id of the user behind a call, `undefined` without a user. */
export function readUserId({ user }: Params): unknown {
  const { _id, id } = (user ?? {}) as { readonly _id?: unknown; readonly id?: unknown }
  return _id ?? id
}
