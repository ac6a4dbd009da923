import type { AroundHook } from '../../core/index.ts'
import type { Authentication, AuthenticationStrategy } from '../authentication.ts'
import { createUserWatch } from './changed-users.ts'
import { RefreshStrategy } from './refresh-strategy.ts'
import { SessionCookies } from './session-cookies.ts'
import { createSessionGuard } from './session-guard.ts'
import { Sessions } from './sessions.ts'

/** The sessions of an authentication service with their hooks and strategy. Creating them does not use the database. */
export interface SessionParts {
  readonly sessions: Sessions
  readonly cookies: SessionCookies
  /** The strategy `refresh`. */
  readonly strategy: AuthenticationStrategy
  /** Guards the service that stores sessions. */
  readonly guard: AroundHook
  /** Ends sessions when their users change. */
  readonly watch: AroundHook
  /** Puts the tokens of logins into cookies. */
  readonly cookieHook: AroundHook
}

/** Returns the parts of the sessions of an authentication service. */
export function createSessionParts(authentication: Authentication): SessionParts {
  const sessions = new Sessions(authentication)
  const cookies = new SessionCookies(authentication, sessions)
  return {
    ...{ sessions, cookies },
    strategy: new RefreshStrategy(authentication, sessions),
    guard: createSessionGuard(authentication, sessions),
    // Created for each call, because it reads the settings, which may change.
    watch: (context, next) => createUserWatch(authentication, sessions)(context, next),
    cookieHook: cookies.createHook(),
  }
}
