import type { Params } from '../../core/index.ts'
import { readUserId } from '../../core/user-id.ts'
import { getTokenClaims } from '../proof.ts'
import { getNetwork } from './network.ts'

/**
 * Returns the caller that limits on calls and streams count: the user after `authenticate`, otherwise the subject of
 * the token, otherwise the network.
 */
export function findCaller(params: Params): string {
  const id = readUserId(params) ?? getTokenClaims(params.authentication).sub
  return id == null ? `address ${getNetwork(params.address ?? '')}` : `user ${String(id)}`
}
