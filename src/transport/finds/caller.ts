import { getTokenClaims } from '../../auth/proof.ts'
import type { Params } from '../../core/index.ts'

/** Returns when the token of a call expires, in ms since the epoch; infinite without one. */
export function toExpiry({ authentication }: Params): number {
  const { exp } = getTokenClaims(authentication)
  return typeof exp === 'number' ? exp * 1_000 : Number.POSITIVE_INFINITY
}
