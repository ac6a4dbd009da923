import { MethodNotOffered } from '../../core/errors/coded-errors.ts'
import type { AroundHook, HookContext, Params } from '../../core/index.ts'
import type { Serving } from '../../core/services/service-map.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import type { Authentication } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { NoQuery, OwnFound, PagingQuery } from '../kept-records.ts'
import { describeOwn, proveOwner, serveOwn } from '../kept-records.ts'
import type { MethodDescriber } from '../method-description.ts'
import type { UserMarks } from './user-state.ts'

/** A session as internal calls see it. The record has additional fields for use by the package only. */
export interface SessionRecord {
  /** The claim `sid` of its access tokens. */
  readonly _id: string
  /** The claim `sub` of its access tokens. */
  readonly userId: string
  /** When the user logged in. */
  readonly createdAt: Date
  /** When it was last refreshed. */
  readonly usedAt: Date
  /** Until when it can be refreshed; the database deletes it afterwards. */
  readonly expiresAt: Date
  /** When it ends, however often it is refreshed. */
  readonly endsAt: Date
  /** The header `User-Agent` of the login. */
  readonly userAgent: string | null
  /** The network address of the login. */
  readonly address: string | null
}

/** A session as it is stored. */
export interface StoredSession extends SessionRecord {
  readonly tokenHash: string
  /** The state of the user that the login has proven. Sessions of an earlier version have no marks. */
  readonly marks?: UserMarks
  /** When the access token that came with the refresh token was issued, in seconds since the epoch. */
  readonly issuedAt: number
  /** The most recently used refresh tokens, each at the slot of its generation. */
  readonly spent: Readonly<Record<string, SpentToken>>
  /** When a used token was sent again, by the clock of the database. */
  readonly checkedAt?: Date
}

/** A refresh token that was used. */
export interface SpentToken {
  readonly hash: string
  /** Its successor, sealed with this token. */
  readonly next: string
  /** When it was used, by the clock of the database. */
  readonly at: Date
}

const MAX_AGENT_LENGTH = 300

/** Returns what a session stores about the caller who logs in or refreshes it. */
export function describeCaller({
  headers,
  address,
}: AuthenticationParams): Pick<SessionRecord, 'userAgent' | 'address'> {
  const agent = headers?.['user-agent']
  const userAgent = typeof agent === 'string' ? agent.slice(0, MAX_AGENT_LENGTH) : null
  return { userAgent, address: address ?? null }
}

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

/** Returns the describer of the service that stores sessions. */
export function createSessionDescriber(authentication: Authentication): MethodDescriber {
  return (method) => (SESSION_METHODS.includes(method) ? describeOwn(authentication, FIELDS) : null)
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
export function createSessionGuard(
  authentication: Authentication,
  noteEnd: (end: { readonly sid: string }) => void,
): AroundHook {
  /** Notes the end of a session that was removed by its id. `Sessions` itself notes it when it removes many. */
  const noteRemoval = ({ method, id }: HookContext): void => {
    if (method === 'remove' && id != null) noteEnd({ sid: String(id) })
  }
  return async (context, next) => {
    if (context.params.provider === undefined) {
      await next()
      return noteRemoval(context)
    }
    if (!SESSION_METHODS.includes(context.method)) {
      throw new MethodNotOffered(`Cannot change sessions by '${context.method}'`)
    }
    const owner = await proveOwner(authentication, context, 'Sessions')
    const own = { userId: owner.sub, records: 'Sessions' }
    await serveOwn<StoredSession>(context, next, own, (one) => toOwnSession(one, owner['sid']))
    noteRemoval(context)
  }
}
