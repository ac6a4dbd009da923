import type { Params } from '../core/index.ts'
import type { TokenOptions } from './tokens/token-options.ts'

/** What the authentication service and strategies read from params, beside the usual. */
export interface AuthenticationParams extends Params {
  /**
   * The strategies that `create` accepts in this call. Default: `authStrategies` of the setting.
   */
  authStrategies?: readonly string[] | undefined
  /** Options for the token that `create` makes. */
  jwtOptions?: TokenOptions | undefined
  /** Options for verifying a token. */
  jwt?: TokenOptions | undefined
  /** Takes the place of the configured secret. */
  secret?: string | undefined
  /** The network address of the caller, for throttling and the log. */
  address?: string | undefined
  /** Whether a strategy has confirmed the caller. Trusted on internal calls only. */
  authenticated?: boolean | undefined
}

/**
 * Returns a copy of params for a call inside this process that needs no authentication. The
 * fields stand before the spread so that none has to be added after it, which would take ten
 * times as long. The address is copied by name: on the params of a transport it is a getter of
 * their class, which spreading leaves out.
 */
export function toInternalParams(params: AuthenticationParams): AuthenticationParams {
  const copy: AuthenticationParams = {
    provider: undefined,
    authentication: undefined,
    authenticated: true,
    query: undefined,
    address: params.address,
    ...params,
  }
  copy.provider = undefined
  copy.authentication = undefined
  copy.authenticated = true
  return copy
}

/** Returns params with `authenticated` and the address, for a strategy's own calls. */
export function toAuthenticatedParams(params: AuthenticationParams): AuthenticationParams {
  if (params.authenticated === true) return params
  const { address } = params
  return { ...params, authenticated: true, ...(address === undefined ? {} : { address }) }
}
