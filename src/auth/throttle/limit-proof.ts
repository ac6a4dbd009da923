import type { AuthenticationRequest, Logger } from '../../core/index.ts'
import type { AuthenticationStrategy } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { LoginThrottle } from './login-throttle.ts'

/** What is read of an authentication service. */
interface Service {
  readonly app: { readonly logger: Logger }
  readonly configKey: string
  readonly loginThrottle: LoginThrottle | null
}

/**
 * Runs a proof of a caller outside within the limits for guesses that its strategy has; any other
 * proof as it is.
 * @throws {TooManyRequests} too many guesses have failed
 */
export function limitProof<T>(
  service: Service,
  strategy: AuthenticationStrategy,
  request: AuthenticationRequest,
  params: AuthenticationParams,
  prove: (added?: AuthenticationParams) => Promise<T>,
): Promise<T> {
  if (!params.provider || strategy.limitGuesses === undefined) return prove()
  warnOfProxy(service, params)
  return strategy.limitGuesses(request, params, prove)
}

/**
 * The services that have logged the warning. Here, and not in the service, whose interface would
 * have to show it to every strategy.
 */
const WARNED = new WeakSet<object>()

/**
 * Logs once that all callers share the address of a proxy, and with it one limit. Where the
 * transport trusts the proxy, the address is one of those in `X-Forwarded-For`. A client that
 * invents the header causes one line in the log at most.
 */
function warnOfProxy(service: Service, { address, headers }: AuthenticationParams): void {
  const forwarded = headers?.['x-forwarded-for']
  if (address === undefined || forwarded === undefined || WARNED.has(service)) return
  if (service.loginThrottle === null || String(forwarded).includes(address)) return
  WARNED.add(service)
  service.app.logger.warn(
    { address, setting: `${service.configKey}.loginThrottle` },
    'A login came with X-Forwarded-For from an address that is not trusted: if this is your proxy, ' +
      'name it in `trustProxy`, or all callers share its limit for failing logins',
  )
}
