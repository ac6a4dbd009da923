import type { AroundHook, HookContext, Params } from '../../core/index.ts'
import { MethodNotAllowed } from '../../core/index.ts'
import type { Serving } from '../../core/services/service-map.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import type { Authentication } from '../authentication.ts'
import type { NoQuery, OwnFound, PagingQuery } from '../guarded-service.ts'
import { describeOwn, proveOwner, restrictToOwn, showOnly } from '../guarded-service.ts'
import type { MethodDescriber } from '../method-description.ts'
import type { Sessions } from './sessions.ts'
import type { SessionRecord, StoredSession } from './stored-session.ts'

/** A session as its user sees it. */
export interface Session extends Omit<SessionRecord, 'userId' | 'endsAt'> {
  /** Whether the access token of the request belongs to this session. */
  readonly current: boolean
}

/** The service that stores sessions, as external callers use it. */
interface OutsideSessions<S> {
  find(params?: Params<PagingQuery<Session>>): Promise<OwnFound<S, Session>>
  get(id: string, params?: Params<NoQuery>): Promise<Session>
  remove(id: string, params?: Params<NoQuery>): Promise<Session>
}

/**
 * The type of the service that stores sessions, for a map of services: `{ sessions:
 * ServedSessions<MongoDBService<SessionRecord>> }`. Internal calls see the records, clients see a {@link Session}.
 */
export type ServedSessions<S> = S & Serving<never, OutsideSessions<S>>

/** The methods that external callers may call. */
const SESSION_METHODS: readonly string[] = ['find', 'get', 'remove']

const TIME: JSONSchema = { type: 'string', format: 'date-time' }
const TEXT: JSONSchema = { type: ['string', 'null'] }

const FIELDS: Readonly<Record<keyof Session, JSONSchema>> = {
  ...{ _id: { type: 'string' }, createdAt: TIME, usedAt: TIME, expiresAt: TIME },
  ...{ userAgent: TEXT, address: TEXT, current: { type: 'boolean' } },
}

const RECORD: JSONSchema = { type: 'object', required: Object.keys(FIELDS), properties: FIELDS }

/** Returns the describer of the service that stores sessions. */
export function createSessionDescriber(authentication: Authentication): MethodDescriber {
  return (method) => (SESSION_METHODS.includes(method) ? describeOwn(authentication, RECORD) : null)
}

/**
 * Returns a session as its user sees it.
 * @param sid the id of the session of the request
 */
function toOwnSession(stored: StoredSession, sid: unknown): Session {
  const { _id, createdAt, usedAt, expiresAt, endsAt, userAgent, address } = stored
  // A refresh moves `expiresAt`, which may exceed the fixed end.
  const end = endsAt < expiresAt ? endsAt : expiresAt
  return { _id, createdAt, usedAt, expiresAt: end, userAgent, address, current: _id === sid }
}

/** Returns a hook that restricts external callers to seeing and ending their own sessions. Internal calls pass. */
export function createSessionGuard(authentication: Authentication, sessions: Sessions): AroundHook {
  return async (context, next) => {
    if (context.params.provider === undefined) {
      await next()
      return noteRemoval(sessions, context)
    }
    if (!SESSION_METHODS.includes(context.method)) {
      throw new MethodNotAllowed(`Cannot change sessions by '${context.method}'`)
    }
    const owner = await proveOwner(authentication, context, 'Sessions')
    restrictToOwn(context, owner.sub, 'Sessions')
    await next()
    showOnly(context, (session: StoredSession) => toOwnSession(session, owner['sid']))
    noteRemoval(sessions, context)
  }
}

/** Emits the end of a session that was removed by its id. `Sessions` itself emits it when it removes many. */
function noteRemoval(sessions: Sessions, { method, id }: HookContext): void {
  if (method === 'remove' && id != null) sessions.noteEnd({ sid: String(id) })
}
