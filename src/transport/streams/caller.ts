import { getTokenClaims } from '../../auth/proof.ts'
import type { SessionEnd } from '../../auth/sessions/sessions.ts'
import type { Params } from '../../core/index.ts'

/** Returns when the token of a call expires, in ms since the epoch; infinite without one. */
export function toExpiry({ authentication }: Params): number {
  const { exp } = getTokenClaims(authentication)
  return typeof exp === 'number' ? exp * 1_000 : Number.POSITIVE_INFINITY
}

/** Whether an event ends the session of a call: this session, or all sessions of its user except one. */
export function isEndedBy({ sid, userId, keep }: SessionEnd, { authentication }: Params): boolean {
  const claims = getTokenClaims(authentication)
  if (claims['sid'] === undefined || claims['sid'] === keep) return false
  return sid === undefined ? claims.sub === userId : claims['sid'] === sid
}
