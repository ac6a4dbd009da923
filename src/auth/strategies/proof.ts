/** What was proven about an authentication, and by whom. */
export interface Proof {
  /** The authentication service. */
  readonly service: object
  /** A service whose own hooks accept the proof whichever authentication service they name. */
  readonly entityService?: object
  /**
   * The name of the strategy, `null` where hooks accept the proof whichever strategies they name.
   */
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
 * Adds the proof to a `params.authentication` that a strategy has confirmed, as a private field: no
 * request, query or setting can have such a field, and copies of the object don't have it. Params
 * that are spread for a further call keep the object, and with it the proof. A WeakMap would do the
 * same at five times the cost, on every request.
 */
class ProvenAuthentication extends ExistingObject {
  readonly #proof: Proof

  constructor(authentication: object, proof: Proof) {
    super(authentication)
    this.#proof = proof
  }

  static find(authentication: object): Proof | undefined {
    return #proof in authentication ? authentication.#proof : undefined
  }
}

/** Returns a copy of an authentication that counts as proven. */
export function proveAuthentication(
  authentication: object | undefined,
  proof: Proof,
): Record<string, unknown> {
  // Copied, as a strategy may return the same object for several calls. Not by spreading: the
  // object that V8 makes then has no room for one more field, and adding it takes ten times as
  // long.
  const proven: Record<string, unknown> = {}
  Object.assign(proven, authentication)
  new ProvenAuthentication(proven, proof)
  return proven
}

/** Returns the proof of an authentication, `undefined` when there is none. */
export function findProof(authentication: unknown): Proof | undefined {
  if (typeof authentication !== 'object' || authentication === null) return undefined
  return ProvenAuthentication.find(authentication)
}
