/**
 * One row of {@link METHOD_TABLE}: how a service method maps to HTTP, its arguments and its event.
 */
export interface MethodSpec {
  /** The HTTP method. */
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Whether the id is the first argument and the last segment of the URL. */
  readonly withId: boolean
  /** The arguments of the method in their order. */
  readonly arguments: readonly ('id' | 'data' | 'params')[]
  /** The event emitted after a successful call, `null` for none. */
  readonly event: string | null
}

/** Name of a standard method. */
export type StandardMethod = 'find' | 'get' | 'create' | 'update' | 'patch' | 'remove'

/** The six standard methods; server and client read the same table. */
export const METHOD_TABLE: Readonly<Record<StandardMethod, MethodSpec>> = {
  find: { verb: 'GET', withId: false, arguments: ['params'], event: null },
  get: { verb: 'GET', withId: true, arguments: ['id', 'params'], event: null },
  create: { verb: 'POST', withId: false, arguments: ['data', 'params'], event: 'created' },
  update: { verb: 'PUT', withId: true, arguments: ['id', 'data', 'params'], event: 'updated' },
  patch: { verb: 'PATCH', withId: true, arguments: ['id', 'data', 'params'], event: 'patched' },
  remove: { verb: 'DELETE', withId: true, arguments: ['id', 'params'], event: 'removed' },
}

/**
 * How every custom method is called: `POST` with `X-Service-Method`, `(data, params)`, no event.
 */
export const CUSTOM_METHOD: MethodSpec = {
  verb: 'POST',
  withId: false,
  arguments: ['data', 'params'],
  event: null,
}

export const STANDARD_METHODS: readonly StandardMethod[] = Object.freeze(
  Object.keys(METHOD_TABLE) as StandardMethod[],
)

/** The events of the standard methods: `created updated patched removed`. */
export const STANDARD_EVENTS: readonly string[] = Object.freeze(
  STANDARD_METHODS.flatMap((name) => METHOD_TABLE[name].event ?? []),
)

/** Whether a name is that of a standard method. */
export function isStandardMethod(name: string): name is StandardMethod {
  return Object.hasOwn(METHOD_TABLE, name)
}

/** Whether a method is a standard one that writes: it has an event. */
export function isWrite(name: string): boolean {
  return toMethodSpec(name).event !== null
}

/** Returns the row of a standard method, or the row that all custom methods share. */
export function toMethodSpec(name: string): MethodSpec {
  return isStandardMethod(name) ? METHOD_TABLE[name] : CUSTOM_METHOD
}
