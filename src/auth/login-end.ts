import type { Application } from '../core/index.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'

/** Identifies logins that have ended: that of a token, of a session, or of all sessions of a user except one. */
export interface LoginEnd {
  readonly jti?: string
  readonly sid?: string
  readonly userId?: string
  /** The session that continues. */
  readonly keep?: string | undefined
}

/** Returns whether an end applies to the login of a token with these claims. */
export function isEndedBy(
  { jti, sid, userId, keep }: LoginEnd,
  claims: Partial<AccessTokenPayload>,
): boolean {
  if (jti !== undefined) return claims.jti === jti
  if (claims['sid'] === undefined || claims['sid'] === keep) return false
  return sid === undefined ? claims.sub === userId : claims['sid'] === sid
}

/** The event that an application emits when logins end before their tokens expire. */
const LOGIN_END = Symbol('remex.loginEnd')

/** Emits the end of logins, for connections that outlive a request, such as streams and sockets. */
export function emitLoginEnd(app: Application, end: LoginEnd): void {
  app.emit(LOGIN_END, end)
}

/** Adds a listener that is called whenever logins end. Returns a function that removes it. */
export function onLoginEnd(app: Application, listener: (end: LoginEnd) => void): () => void {
  app.on(LOGIN_END, listener)
  return () => app.off(LOGIN_END, listener)
}
