import type { Params } from '../core/index.ts'
import type { LoginAttempt } from './throttle/login-throttle.ts'
import type { TokenOptions } from './tokens/token-options.ts'

/** What the authentication service and strategies read from params, beside the usual. */
export interface AuthenticationParams extends Params {
  /** The strategies that `create` accepts here. Default: `authStrategies` of the setting. */
  authStrategies?: readonly string[] | undefined
  /** Options for the token that `create` makes. */
  jwtOptions?: TokenOptions | undefined
  /** Options for verifying a token. */
  jwt?: TokenOptions | undefined
  /** Takes the place of the configured secret. */
  secret?: string | undefined
  /** The network address of the caller, for throttling and the log. */
  address?: string | undefined
  /** The login that is being counted: strategies that know its user say so. */
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
 * Returns a copy of params for a call inside this process that needs no authentication. No key is
 * added without a value: services may ask whether one is there.
 */
export function createInternalParams(
  params: AuthenticationParams,
  added?: AuthenticationParams,
): AuthenticationParams {
  // On the params of a transport the address is a getter of their class, which a copy leaves out.
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

/** Returns a copy of params without the provider, and with what a copy leaves out of a transport's. */
export function withoutProvider<P extends AuthenticationParams>(params: P): Omit<P, 'provider'> {
  const { provider: _provider, ...copy } = params
  for (const name of ['signal', 'address', 'requestId'] as const) {
    if (params[name] !== undefined) Object.assign(copy, { [name]: params[name] })
  }
  return copy
}
