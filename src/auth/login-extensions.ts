import type { Authentication, LoginExtension } from './authentication.ts'
import { SessionLogins } from './sessions/session-logins.ts'

/** The extensions of each authentication service. The first that can issue tokens issues those of all logins. */
export const LOGIN_EXTENSIONS: readonly (new (authentication: Authentication) => LoginExtension)[] =
  [SessionLogins]
