import type { Params } from '../../core/index.ts'
import { readUserId } from '../../core/user-id.ts'
import { getTokenClaims } from '../proof.ts'
import { getNetwork } from './network.ts'

/**
 * Returns who a call is counted for, by limits of calls and of streams alike: the user behind `authenticate`, the
 * subject of the token where there is no user, else the network.
 */
export function findCaller(params: Params): string {
  const id = readUserId(params) ?? getTokenClaims(params.authentication).sub
  return id == null ? `address ${getNetwork(params.address ?? '')}` : `user ${String(id)}`
}
