import type { AuthenticationRequest } from '../core/index.ts'
import type { Authentication, AuthenticationStrategy } from './authentication.ts'
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

/** Its constructor returns the given object, to which a subclass then adds its private fields. */
class ExistingObject {
  constructor(existing: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what the class is for
    return existing
  }
}

/**
 * Adds a proof to an object as a private field. No request, query or setting can have such a field, and copies of the
 * object lack it. Params that are spread for another call keep the object, and with it the proof. A WeakMap would do
 * the same at five times the cost, on every request.
 */
class Proven extends ExistingObject {
  readonly #proof: unknown

  constructor(object: object, proof: unknown) {
    super(object)
    this.#proof = proof
  }

  static find(object: object): unknown {
    return #proof in object ? object.#proof : undefined
  }
}

/** Returns a copy of an authentication that a strategy has confirmed, with the proof attached. */
export function proveAuthentication(
  authentication: object | undefined,
  proof: Proof,
): Record<string, unknown> {
  // A copy, as a strategy may return the same object for several calls. Not by spreading: V8 leaves no room for one
  // more field in such an object, and adding it takes ten times as long.
  const proven: Record<string, unknown> = {}
  Object.assign(proven, authentication)
  new Proven(proven, proof)
  return proven
}

/** Returns the proof of an authentication, `undefined` if there is none. */
export function findProof(authentication: unknown): Proof | undefined {
  if (typeof authentication !== 'object' || authentication === null) return undefined
  const proof = Proven.find(authentication)
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
  const proven = { ...profile }
  new Proven(proven, strategy)
  return proven
}

/** Returns whether a profile comes from the provider of a strategy, rather than from a caller. */
export function isProvenProfile(
  profile: unknown,
  strategy: string,
): profile is Record<string, unknown> {
  return typeof profile === 'object' && profile !== null && Proven.find(profile) === strategy
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
