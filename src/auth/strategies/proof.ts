/** Whose word stands behind a proven authentication. */
export interface Proof {
  /** The authentication service. */
  readonly service: object
  /** The service with the entity, where its own hooks may rely on it whichever service they ask for. */
  readonly entityService?: object
  /** The name of the strategy, `null` where a hook for any of them may rely on it. */
  readonly strategy: string | null
  readonly entity: unknown
  /** The key of the entity in params. Default: the one that the service has for it. */
  readonly entityName?: string
}

/** Has a constructor return an object that is there already, which then gets the private fields. */
class ExistingObject {
  constructor(existing: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what the class is for
    return existing
  }
}

/**
 * The proof of a `params.authentication` that a strategy has confirmed, as a private field of this
 * very object: nothing that can be written into a request, a query or a setting has such a field, and
 * a copy has it not. It goes along where params are spread for a further call. A WeakMap would do the
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
  // A copy, for the object may be one that its maker hands out again and again. Not by spreading,
  // which makes an object without room for one more field: adding it would cost ten times as much.
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
