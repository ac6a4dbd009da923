import { LoginRejected } from '../core/errors/coded-errors.ts'
import type { AuthenticationRequest } from '../core/index.ts'
import { isObject } from '../core/value-kind.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationResult,
  AuthenticationStrategy,
} from './authentication.ts'
import type { AuthenticationParams } from './authentication-params.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'

/** Records what was proven about an authentication, and by whom. */
export interface Proof {
  /** The authentication service. */
  readonly service: object
  /** A service whose own hooks accept the proof, whichever authentication service they name. */
  readonly entityService?: object
  /** The name of the strategy; `null` if hooks accept the proof whichever strategies they name. */
  readonly strategy: string | null
  readonly entity: unknown
  /** The key of the entity in params. Default: `entity` of the authentication service. */
  readonly entityName?: string
}

/**
 * The key of a proof on its object. No request, query or setting can have it, and copies of the object lack it. Params
 * that are spread for another call keep the object, and with it the proof.
 */
const PROOF = Symbol('remex.proof')

function addProof(object: object, value: unknown): Record<string, unknown> {
  return Object.defineProperty(object, PROOF, { value }) as Record<string, unknown>
}

function getProof(object: unknown): unknown {
  if (!isObject(object) || !Object.hasOwn(object, PROOF)) return undefined
  return (object as { readonly [PROOF]?: unknown })[PROOF]
}

/** Returns a copy of an authentication that a strategy has confirmed, with the proof attached. */
export function proveAuthentication(
  authentication: object | undefined,
  proof: Proof,
): Record<string, unknown> {
  // A copy, as a strategy may return the same object for several calls. Adding a field to a spread object takes five
  // times as long.
  return addProof(Object.assign({}, authentication), proof)
}

/** Returns the proof of an authentication, `undefined` if there is none. */
export function findProof(authentication: unknown): Proof | undefined {
  const proof = getProof(authentication)
  return typeof proof === 'object' ? (proof as Proof) : undefined
}

/** Returns the claims of the token that confirmed an authentication; an empty object for any other proof. */
export function getTokenClaims(authentication: object | undefined): Partial<AccessTokenPayload> {
  const { payload } = (authentication ?? {}) as { payload?: Partial<AccessTokenPayload> | null }
  return payload ?? {}
}

/** Returns when the token of an authentication expires, in ms since the epoch; infinite without one. */
export function toExpiry(authentication: object | undefined): number {
  const { exp } = getTokenClaims(authentication)
  return typeof exp === 'number' ? exp * 1_000 : Number.POSITIVE_INFINITY
}

/** Returns a copy of a profile, marked as confirmed by the provider of a strategy. */
export function proveProfile(
  profile: Readonly<Record<string, unknown>>,
  strategy: string,
): Record<string, unknown> {
  return addProof({ ...profile }, strategy)
}

/** Returns whether a profile comes from the provider of a strategy, rather than from a caller. */
export function isProvenProfile(
  profile: unknown,
  strategy: string,
): profile is Record<string, unknown> {
  return getProof(profile) === strategy
}

/**
 * Returns what the first of the named strategies reads from a request, otherwise what an extension reads, `null` if
 * none does. Returns a promise only if a strategy does.
 * @param start where in the list of names to begin
 */
export function parseProof(
  service: Authentication,
  strategies: ReadonlyMap<string, AuthenticationStrategy>,
  names: readonly string[],
  request: AuthenticationHttpRequest,
  reply: unknown,
  start: number = 0,
): AuthenticationRequest | null | Promise<AuthenticationRequest | null> {
  for (let index = start; index < names.length; index += 1) {
    const strategy = strategies.get(names[index] ?? '')
    const parsed = strategy?.parse?.(request, reply) ?? null
    if (parsed instanceof Promise) {
      return parsed.then(
        (value) => value ?? parseProof(service, strategies, names, request, reply, index + 1),
      )
    }
    if (parsed !== null) return parsed
  }
  for (const extension of service.loginExtensions ?? []) {
    const parsed = extension.parse?.(request, names) ?? null
    if (parsed !== null) return parsed
  }
  return null
}

/** Authenticates a request: see {@link Authentication.authenticate}. */
export function proveRequest(
  service: Authentication,
  request: AuthenticationRequest | null | undefined,
  params: AuthenticationParams,
  allowed: readonly string[],
): Promise<AuthenticationResult> {
  const name: unknown = request?.strategy
  if (!request || !name) return refuse(' (no `strategy` set)')
  if (typeof name !== 'string' || !allowed.includes(name)) {
    return refuse(' (strategy not allowed in authStrategies)')
  }
  const strategy = service.getStrategy(name)
  if (strategy === undefined) return refuse('')
  // The address is a getter on the class of a transport's params, so a copy would lack it.
  const { address } = params
  const authenticated =
    params.authenticated === true
      ? params
      : { ...params, authenticated: true, ...(address !== undefined && { address }) }
  // Not async: one more promise would slow down every request with a token.
  const prove = (added?: AuthenticationParams): Promise<AuthenticationResult> => {
    const all = added === undefined ? authenticated : { ...authenticated, ...added }
    try {
      return Promise.resolve(strategy.authenticate(request, all))
    } catch (error) {
      return Promise.reject(error)
    }
  }
  return limitProof(service, strategy, request, params, prove)
}

function refuse(reason: string): Promise<never> {
  return Promise.reject(new LoginRejected(`Invalid authentication information${reason}`))
}

/**
 * Checks a proof of an external caller within the limits for guesses that its strategy has; other proofs are not
 * limited.
 * @throws {TooManyRequests} too many guesses have failed
 */
export function limitProof<T>(
  { app, configKey, loginThrottle }: Authentication,
  strategy: AuthenticationStrategy,
  request: AuthenticationRequest,
  params: AuthenticationParams,
  prove: (added?: AuthenticationParams) => Promise<T>,
): Promise<T> {
  if (!params.provider || strategy.limitGuesses === undefined) return prove()
  loginThrottle?.warnOfProxy(params, app.logger, `${configKey}.loginThrottle`)
  return strategy.limitGuesses(request, params, prove)
}

/**
 * Runs a login, or another check of who is calling, within the limits on failed logins, if there are any.
 * @param account the user name, `null` if there is none: then it counts for the address only
 * @param prove takes additional params for the strategy
 */
export function limitLogins<T>(
  { app, loginThrottle }: Authentication,
  account: string | null,
  { address, signal }: AuthenticationParams,
  prove: (added?: AuthenticationParams) => Promise<T>,
): Promise<T> {
  if (loginThrottle === null) return prove()
  return loginThrottle.run(account, address, prove, { logger: app.logger, signal })
}
