import type { Params } from '../../core/index.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { UserMarks } from './user-state.ts'

/** The methods that sessions call on the service that stores them. Each is a single database command. */
export interface SessionService {
  get(id: string, params: Params): Promise<unknown>
  find(params: Params): Promise<unknown>
  create(data: object, params: Params): Promise<unknown>
  patch(id: string, data: object, params: Params): Promise<unknown>
  remove(id: string | null, params: Params): Promise<unknown>
}

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
