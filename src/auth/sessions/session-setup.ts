import { toServicePath } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { addAround, followService, keepRecords } from '../guarded-service.ts'
import { createUserWatch, WATCHED_METHODS } from './changed-users.ts'
import { RefreshStrategy } from './refresh-strategy.ts'
import { SessionCookies } from './session-cookies.ts'
import { createSessionGuard } from './session-guard.ts'
import { Sessions } from './sessions.ts'

/** Finds the sessions of a user; and has the database remove sessions that have ended. */
const INDEXES = [
  { key: { userId: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { key: { endsAt: 1 }, expireAfterSeconds: 0 },
]

/**
 * Gives an authentication service sessions: registers the strategy `refresh`, guards the service that keeps the
 * sessions, creates its indexes, and adds the hooks that put tokens into cookies and watch users.
 * @throws {TypeError} the setting names no `MongoDBService` or that of another authentication service, no
 *   strategy finds users, or one is named `refresh` already
 */
export async function installSessions(
  authentication: Authentication,
): Promise<{ sessions: Sessions; cookies: SessionCookies }> {
  const { app, configKey, configuration } = authentication
  const sessions = new Sessions(authentication)
  const cookies = new SessionCookies(authentication, sessions)
  if (authentication.getStrategy('refresh') !== undefined) {
    throw new TypeError(
      `'${configKey}.sessions' adds a strategy 'refresh', and there is one already`,
    )
  }
  // Throws now, and not at each login, where `accessExpiresIn` is longer than tokens may live.
  const { service, accessSeconds } = sessions.options
  await authentication.createAccessToken({}, { expiresIn: accessSeconds, subject: 'start' })
  await keepRecords({
    ...{ authentication, owner: authentication, records: 'sessions', indexes: INDEXES },
    ...{ service, setting: `${configKey}.sessions` },
    guard: createSessionGuard(authentication, sessions),
  })
  const watch = createUserWatch(authentication, sessions)
  const users = toServicePath(configuration.service ?? '')
  followService(app, users, (entry) => addAround(entry, WATCHED_METHODS, watch))
  const own = [...app.entries.values()].filter(
    ({ service }) => service === (authentication as object),
  )
  for (const entry of own) addAround(entry, ['create', 'remove'], cookies.createHook())
  authentication.register('refresh', new RefreshStrategy(authentication, sessions))
  return { sessions, cookies }
}
