import type { Authentication, LoginExtension } from './authentication.ts'
import { SessionLogins } from './sessions/session-logins.ts'

/** What adds to the logins of each authentication service. The first one that issues tokens does so for all logins. */
export const LOGIN_EXTENSIONS: readonly (new (authentication: Authentication) => LoginExtension)[] =
  [SessionLogins]
