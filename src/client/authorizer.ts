import type { Answer } from './connection.ts'

/** A call of a remote service that is about to be sent. */
export interface UnsentCall {
  /** The service that is called: its path on the server, and the URL of that. */
  readonly service: { readonly name: string; readonly base: string }
  /** The name of the method. */
  readonly method: string
  /** The headers that the caller has given, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Aborts when the caller gives up, or the time is up. */
  readonly signal: AbortSignal | undefined
  /** Sends the request with further headers. Resolves to the answer, whatever its status is. */
  send(headers: Readonly<Record<string, string>>): Promise<Answer>
}

/** Sends a call with what proves who calls. */
export type Authorizer = (call: UnsentCall) => Promise<Answer>

/**
 * Authorizers are kept at the services, and not in the params of calls: hooks would see the tokens
 * there, and log them.
 */
const AUTHORIZER: unique symbol = Symbol('remex.authorizer')

interface Authorized {
  [AUTHORIZER]?: Authorizer | undefined
}

/** Returns what sends the calls of a service, `undefined` where they prove nothing. */
export function findAuthorizer(service: object): Authorizer | undefined {
  return (service as Authorized)[AUTHORIZER]
}

/** Has an authorizer send the calls of a service from now on, `undefined` for none. */
export function setAuthorizer(service: object, value: Authorizer | undefined): void {
  Object.defineProperty(service, AUTHORIZER, { value, configurable: true })
}
