import { toServicePath } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { findEntityService } from '../entity-service.ts'
import { addAround, followService, guardService } from '../guarded-service.ts'
import { createUserWatch, WATCHED_METHODS } from './changed-users.ts'
import { RefreshStrategy } from './refresh-strategy.ts'
import { SessionCookies } from './session-cookies.ts'
import { createSessionGuard } from './session-guard.ts'
import { Sessions } from './sessions.ts'

/** The part of a `MongoDBService` by which it is recognized, and which creates indexes. */
interface IndexedService {
  readonly id?: unknown
  getModel?(): Promise<{ createIndexes(indexes: readonly object[]): Promise<unknown> }>
}

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
  const { service: path, accessSeconds } = sessions.options
  const service = findEntityService(app, path) as IndexedService | null
  if (service?.getModel === undefined || service.id !== '_id') {
    throw new TypeError(
      `'${configKey}.sessions.service' must name a MongoDBService whose id is '_id': a refresh is one ` +
        'command with a condition',
    )
  }
  if (configuration.entity != null && sessions.finder === undefined) {
    throw new TypeError(
      `'${configKey}.sessions' needs a JwtStrategy, which finds users by their ids`,
    )
  }
  if (authentication.getStrategy('refresh') !== undefined) {
    throw new TypeError(
      `'${configKey}.sessions' adds a strategy 'refresh', and there is one already`,
    )
  }
  // Throws now, and not at each login, where `accessExpiresIn` is longer than tokens may live.
  await authentication.createAccessToken({}, { expiresIn: accessSeconds, subject: 'start' })
  const collection = await service.getModel()
  await collection.createIndexes(INDEXES)
  const guard = createSessionGuard(authentication, sessions)
  const place = toServicePath(path)
  const keeper = { owner: authentication, records: 'sessions' } as const
  followService(app, place, (entry) => guardService(entry, place, keeper, guard))
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
