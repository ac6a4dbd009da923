import type { Application } from '../core/index.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'

/** Returns whether logins have ended, by the claims of their access tokens. */
export type LoginEnd = (claims: Partial<AccessTokenPayload>) => boolean

/** The event of an application when logins have ended before their tokens expire. */
const LOGIN_END = Symbol('remex.loginEnd')

/** Has what lasts longer than a request, such as a stream, end with the logins of its caller. */
export function emitLoginEnd(app: Application, isEnded: LoginEnd): void {
  app.emit(LOGIN_END, isEnded)
}

/** Calls a listener whenever logins have ended. Returns what removes it. */
export function onLoginEnd(app: Application, listener: (isEnded: LoginEnd) => void): () => void {
  app.on(LOGIN_END, listener)
  return () => app.off(LOGIN_END, listener)
}
