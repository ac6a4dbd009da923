import { isObject } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { withoutProvider } from '../authentication-params.ts'
import type { Entity } from '../entity-service.ts'
import {
  createEntityParams,
  findEntityService,
  findUserFinder,
  getEntityIdName,
  getField,
} from '../entity-service.ts'
import { listLoginFields } from '../login-fields.ts'
import type { TokenKeys } from './refresh-token.ts'
import { UserState } from './user-state.ts'

const CHANGED = 'The account has changed during the login: log in again'

/** The user of a session. */
export interface SessionUser {
  /** The part of the result of a login that holds the user; empty without an `entity`. */
  readonly result: Readonly<Record<string, unknown>>
  readonly state: UserState
}

/** Finds the users of sessions, by the strategy for access tokens: a user whom it excludes has no session. */
export class SessionUsers {
  readonly #authentication: Authentication

  constructor(authentication: Authentication) {
    this.#authentication = authentication
  }

  /**
   * Resolves to a user. In external calls, the result has only what external callers may see.
   * @throws {NotAuthenticated} there is no such user, or the user may not log in
   */
  async read(userId: string, params: AuthenticationParams, keys: TokenKeys): Promise<SessionUser> {
    const { app, configuration } = this.#authentication
    const { entity, service } = configuration
    if (entity == null) return { result: {}, state: this.#toState(null, keys) }
    // The strategy notes the stored record here, so that it need not be read again.
    const proven: Entity[] = []
    const finder = findUserFinder(this.#authentication)
    const user = await finder?.getEntity(userId, { ...params, proven })
    const record =
      this.#findOwn(proven, userId) ??
      (await findEntityService(app, service)?.get(userId, createEntityParams(params, {})))
    if (!isObject(record)) throw createRefusal('There is no such user', { userId })
    return { result: { [entity]: user }, state: this.#toState(record, keys) }
  }

  /** Resolves to the state of the user that a login has proven; if its strategy notes none, to the present state. */
  async findProven(
    userId: string,
    result: AuthenticationResult,
    params: AuthenticationParams,
    keys: TokenKeys,
  ): Promise<UserState> {
    const { entity } = this.#authentication.configuration
    const { proven = [] } = params
    const { passwords } = listLoginFields(this.#authentication)
    // A record with a hash is the stored one. One without may be what external callers see.
    const isStored = (record: unknown): boolean =>
      passwords.some((field) => getField(record, field) !== undefined)
    const returned = [entity == null ? null : result[entity]].filter(isStored)
    const record = this.#findOwn(proven, userId) ?? this.#findOwn(returned, userId)
    if (record !== undefined) return this.#toState(record, keys)
    return (await this.read(userId, withoutProvider(params), keys)).state
  }

  /**
   * Resolves to the present state of a user whom a login has proven.
   * @throws {NotAuthenticated} the user has changed since, or may not log in any more
   */
  async confirm(
    userId: string,
    proven: UserState,
    params: AuthenticationParams,
    keys: TokenKeys,
  ): Promise<UserState> {
    const { state } = await this.read(userId, withoutProvider(params), keys)
    const field = state.findChange(proven.knownMarks)
    if (field === null) return state
    throw createRefusal(CHANGED, `'${field}' is not what the login has proven`)
  }

  /** Returns the last record of a user, with `isActive` of the first: a login may change the record in between. */
  #findOwn(records: readonly unknown[], userId: string): Entity | undefined {
    const { app, configuration } = this.#authentication
    const entityService = findEntityService(app, configuration.service)
    const idName = getEntityIdName({ configuration, entityService })
    const isOwn = (record: unknown): record is Entity =>
      isObject(record) && String(record[idName]) === userId
    const own = records.filter(isOwn)
    const [first] = own
    return first && { ...own.at(-1), isActive: first['isActive'] }
  }

  #toState(record: Entity | null, keys: TokenKeys): UserState {
    return new UserState(listLoginFields(this.#authentication), record, keys)
  }
}
