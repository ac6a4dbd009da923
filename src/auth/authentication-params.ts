import type { Params } from '../core/index.ts'
import type { LoginAttempt } from './throttle/login-throttle.ts'
import type { TokenOptions } from './tokens/token-options.ts'

/** Additional params that the authentication service and strategies read. */
export interface AuthenticationParams extends Params {
  /** The strategies that `create` accepts here. Default: `authStrategies` of the setting. */
  authStrategies?: readonly string[] | undefined
  /** Options for the token that `create` makes. */
  jwtOptions?: TokenOptions | undefined
  /** Options for verifying a token. */
  jwt?: TokenOptions | undefined
  /** Replaces the configured secret. */
  secret?: string | undefined
  /** The network address of the caller, for limits and the log. */
  address?: string | undefined
  /** The login that is being counted. Strategies that know its user report it here. */
  attempt?: LoginAttempt | undefined
  /**
   * Strategies add the stored record of the user that they check. A login is rejected if the password or the user name
   * has changed since the last of these records, or if `isActive` has since the first.
   */
  proven?: Record<string, unknown>[] | undefined
  /** Whether a strategy has confirmed the caller. Trusted on internal calls only. */
  authenticated?: boolean | undefined
}

/**
 * Returns a copy of params for an internal call without authentication. Keys without a value are not added: services
 * may test whether a key exists.
 */
export function createInternalParams(
  params: AuthenticationParams,
  added?: AuthenticationParams,
): AuthenticationParams {
  // The address is a getter on the class of a transport's params, so a copy would lack it.
  const {
    provider: _provider,
    authentication: _proof,
    attempt: _attempt,
    proven: _proven,
    address,
    ...others
  } = params
  const copy: AuthenticationParams = others
  copy.authenticated = true
  if (address !== undefined) copy.address = address
  return added === undefined ? copy : { ...copy, ...added }
}

/**
 * Returns a copy of params without the provider, but with the getters that a copy of a transport's params would lose.
 */
export function withoutProvider<P extends AuthenticationParams>(params: P): Omit<P, 'provider'> {
  const { provider: _provider, ...copy } = params
  for (const name of ['signal', 'address', 'requestId'] as const) {
    if (params[name] !== undefined) Object.assign(copy, { [name]: params[name] })
  }
  return copy
}
