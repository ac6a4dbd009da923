import type { Authentication } from '../authentication.ts'
import { findEntityService } from '../entity-service.ts'
import { watchUsers } from './changed-users.ts'
import { RefreshStrategy } from './refresh-strategy.ts'
import { guardSessions } from './session-guard.ts'
import { Sessions } from './sessions.ts'

/** A service on MongoDB, as far as it has indexes. */
interface IndexedService {
  getModel?(): Promise<{ createIndexes(indexes: readonly object[]): Promise<unknown> }>
}

/** To find those of a user by, and for the database to forget those that have ended. */
const INDEXES = [
  { key: { userId: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { key: { endsAt: 1 }, expireAfterSeconds: 0 },
]

/**
 * Gives an authentication service sessions: the strategy that renews them, a guard of the service that keeps them,
 * and its indexes.
 * @throws {TypeError} that service does not exist
 */
export async function installSessions(authentication: Authentication): Promise<Sessions> {
  const { app } = authentication
  const sessions = new Sessions(authentication)
  guardSessions(authentication, sessions)
  watchUsers(authentication, sessions)
  const service = findEntityService(app, sessions.options.service) as IndexedService | null
  const collection = await service?.getModel?.()
  await collection?.createIndexes(INDEXES)
  authentication.register('refresh', new RefreshStrategy(authentication, sessions))
  return sessions
}
