import type { Application } from '../core/index.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'

/** Returns whether logins have ended, by the claims of their access tokens. */
export type LoginEnd = (claims: Partial<AccessTokenPayload>) => boolean

/** The event that an application emits when logins end before their tokens expire. */
const LOGIN_END = Symbol('remex.loginEnd')

/** Emits that logins have ended: what outlasts a request, such as a stream, ends with them. */
export function emitLoginEnd(app: Application, isEnded: LoginEnd): void {
  app.emit(LOGIN_END, isEnded)
}

/** Calls a listener whenever logins end. Returns a function that removes it. */
export function onLoginEnd(app: Application, listener: (isEnded: LoginEnd) => void): () => void {
  app.on(LOGIN_END, listener)
  return () => app.off(LOGIN_END, listener)
}
