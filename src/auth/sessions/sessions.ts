import { InvalidData, LoginEnded } from '../../core/errors/coded-errors.ts'
import type { Params, Query } from '../../core/index.ts'
import { listSecrets } from '../../core/secrets/secret.ts'
import type { AnyService } from '../../core/services/service-map.ts'
import { isObject } from '../../core/value-kind.ts'
import { createRefusal, orNull } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult, ProvenLogin } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { withoutProvider } from '../authentication-params.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { Entity } from '../entity-service.ts'
import {
  createEntityParams,
  findEntityService,
  findUserFinder,
  getEntityIdName,
  getField,
} from '../entity-service.ts'
import { findRecordService } from '../kept-records.ts'
import type { LoginEnd } from '../login-end.ts'
import { listLoginFields } from '../login-fields.ts'
import { deriveOnce } from '../settings-values.ts'
import { decodeClaims } from '../tokens/access-token.ts'
import type { RefreshToken, TokenKeys } from './refresh-token.ts'
import {
  createRefreshToken,
  createSessionId,
  deriveTokenKeys,
  readRefreshToken,
  toTokenId,
} from './refresh-token.ts'
import type { ResolvedSessionOptions, SessionOptions } from './session-options.ts'
import { resolveSessionOptions } from './session-options.ts'
import type { StoredSession } from './stored-session.ts'
import { describeCaller } from './stored-session.ts'
import { UserState } from './user-state.ts'

/** The argument of `app.on('sessionEnd')`. */
export type SessionEnd = Omit<LoginEnd, 'jti'>

const MAX_CHECKED = 10_000

const CHANGED = 'The account has changed during the login: log in again'

/**
 * The sessions of one authentication service. It finds their users with the strategy for access tokens: a user excluded
 * by that has no session.
 */
export class Sessions {
  readonly #authentication: Authentication
  /** Until when a session need not be looked up again: session id to `performance.now()`. */
  #checked = new BoundedMap<string, number>(MAX_CHECKED)
  readonly #readSettings: () => { options: ResolvedSessionOptions; tokenKeys: TokenKeys }

  constructor(authentication: Authentication) {
    this.#authentication = authentication
    const { configKey } = authentication
    this.#readSettings = deriveOnce(
      () => authentication.configuration,
      ({ sessions, secret }) => ({
        options: resolveSessionOptions(sessions as SessionOptions, `${configKey}.sessions`),
        tokenKeys: deriveTokenKeys(configKey, listSecrets(secret)),
      }),
    )
  }

  get options(): ResolvedSessionOptions {
    return this.#readSettings().options
  }

  /** The keys of refresh tokens. Public keys are left out: anyone may know them. */
  get tokenKeys(): TokenKeys {
    return this.#readSettings().tokenKeys
  }

  /**
   * Starts a session for a login. Resolves to the result of the login with an access token and a refresh token.
   * @throws {NotAuthenticated} the user has changed since, or may no longer log in
   */
  async begin(login: ProvenLogin): Promise<AuthenticationResult> {
    const { result, tokenOptions, params } = login
    const { idleMs, absoluteMs, maxPerUser } = this.options
    const now = Date.now()
    const sid = createSessionId()
    const userId = tokenOptions.subject ?? ''
    const token = createRefreshToken({ sessionId: sid, userId, generation: 0 }, this.tokenKeys)
    const issuedAt = Math.floor(now / 1000)
    const answer = await this.issue(token, issuedAt, login)
    const proven = await this.#findProven(userId, result, params)
    const session: StoredSession = {
      _id: sid,
      userId,
      createdAt: new Date(now),
      usedAt: new Date(now),
      expiresAt: new Date(now + idleMs),
      endsAt: new Date(now + absoluteMs),
      ...describeCaller(params),
      tokenHash: token.hash,
      marks: proven.marks,
      issuedAt,
      spent: {},
    }
    await this.#service.create(session, {})
    await this.#confirm(session, proven, params)
    if (userId !== '' && maxPerUser < Number.POSITIVE_INFINITY) {
      await this.#endSurplus(session, maxPerUser)
    }
    return answer
  }

  /** Resolves to the result of a login with a refresh token and the access token that goes with it. */
  async issue(
    token: RefreshToken,
    issuedAt: number,
    { result, payload, tokenOptions, params }: ProvenLogin,
  ): Promise<AuthenticationResult> {
    const times = { expiresIn: this.options.accessSeconds, issuedAt, jwtid: toTokenId(token) }
    const accessToken = await this.#authentication.createAccessToken(
      { ...payload, sid: token.sessionId },
      { ...tokenOptions, ...times },
      params.secret,
    )
    const authentication = { ...result.authentication, payload: decodeClaims(accessToken) }
    return { accessToken, refreshToken: token.text, ...result, authentication }
  }

  /**
   * Compares the user that a login has proven with the stored user. The session is stored first, so that a later change
   * of the user ends it with the others.
   * @throws {NotAuthenticated} the user has changed since, or may no longer log in
   */
  async #confirm(
    { _id, userId }: StoredSession,
    proven: UserState,
    params: AuthenticationParams,
  ): Promise<void> {
    try {
      const { state } = await this.readUser(userId, withoutProvider(params))
      const field = state.findChange(proven.knownMarks)
      if (field !== null) {
        throw createRefusal(CHANGED, `'${field}' is not what the login has proven`, LoginEnded)
      }
      if (state.findChange(proven.marks) === null) return
      // The strategy has recorded only part of the user.
      await this.patch(_id, { marks: state.marks }, {})
    } catch (error) {
      await this.end(_id)
      throw error
    }
  }

  /** Ends the sessions that a user has not used for the longest time, so that `count` remain, including the new one. */
  async #endSurplus({ _id, userId }: StoredSession, count: number): Promise<void> {
    const others = { userId, _id: { $ne: _id } }
    const query = { ...others, $sort: { usedAt: -1 }, $skip: count - 1, $select: ['_id'] }
    const surplus = await this.#service.find({ query, paginate: false } as Params)
    await Promise.all((surplus as readonly StoredSession[]).map((one) => this.end(one._id)))
  }

  /** @throws {NotAuthenticated} the session of an access token has ended, and `checkSession` is `'always'` */
  async check(sid: string): Promise<void> {
    const { checksAlways, checkCacheMs } = this.options
    if (!checksAlways || (this.#checked.get(sid) ?? 0) > performance.now()) return
    const session = await orNull(this.#service.get(sid, {}), 404)
    if (session === null) throw createRefusal('The session has ended', { sid }, LoginEnded)
    if (checkCacheMs > 0) this.#checked.set(sid, performance.now() + checkCacheMs)
  }

  /** Ends one session. Resolves to whether it existed. */
  async end(sid: string): Promise<boolean> {
    // If it existed, the guard of the service records its end.
    const session = await orNull(this.#service.remove(sid, {}), 404)
    if (session === null) this.noteEnd({ sid })
    return session !== null
  }

  /** Ends the session of a refresh token. Resolves to whether the token was issued here and the session existed. */
  async endByToken(text: string, ended?: unknown): Promise<boolean> {
    const token = readRefreshToken(text, this.tokenKeys)
    return token !== null && token.sessionId !== ended && this.end(token.sessionId)
  }

  /** Ends all sessions of a user, except `keep` if given. */
  async endAll(userId: string, keep?: string): Promise<void> {
    if (userId === '') throw new InvalidData('Cannot end sessions: no user is given')
    await this.#removeAll({ userId, ...(keep === undefined ? {} : { _id: { $ne: keep } }) })
    this.noteEnd({ userId, keep })
  }

  /** Ends the sessions whose marks differ from their stored user: all of them, if the user no longer exists. */
  async endOutdated(userIds: readonly string[]): Promise<void> {
    for (const userId of userIds) {
      const user = await orNull(this.readUser(userId, {}), 401)
      const ended = await this.#removeAll({ userId, ...user?.state.outdatedQuery })
      for (const { _id } of ended) this.noteEnd({ sid: _id })
    }
  }

  #removeAll(query: Query): Promise<readonly StoredSession[]> {
    const params = { query, adapter: { multi: ['remove'] } } as Params
    return this.#service.remove(null, params) as Promise<readonly StoredSession[]>
  }

  /**
   * Stores the current state of a user in the session that has changed it, so that the session continues.
   * @param setsActive whether the change has set `isActive`. If not, the session keeps its mark of `isActive`
   */
  async keep(sid: string, userId: string, setsActive: boolean): Promise<void> {
    const user = await orNull(this.readUser(userId, {}), 401)
    if (user === null) return
    await this.patch(sid, { $set: user.state.toChange(setsActive) }, { userId })
  }

  /** Clears the cache of checked sessions, and emits `sessionEnd`, which ends their streams. */
  noteEnd(end: SessionEnd): void {
    if (end.sid === undefined) this.#checked = new BoundedMap(MAX_CHECKED)
    else this.#checked.delete(end.sid)
    this.#authentication.app.emit('sessionEnd', end)
  }

  /** Changes a session that matches a query. Resolves to it, or to `null` if none matches. */
  patch(sid: string, data: object, query: object): Promise<StoredSession | null> {
    const patched = this.#service.patch(sid, data, { query } as Params)
    return orNull(patched, 404) as Promise<StoredSession | null>
  }

  /**
   * Resolves to the state of a user, and to the part of the result of a login that holds the user, which is empty
   * without an `entity`. In external calls, the result has only what external callers may see.
   * @throws {NotAuthenticated} there is no such user, or the user may not log in
   */
  async readUser(
    userId: string,
    params: AuthenticationParams,
  ): Promise<{ readonly result: AuthenticationResult; readonly state: UserState }> {
    const { app, configuration } = this.#authentication
    const { entity, service } = configuration
    if (entity == null) return { result: {}, state: this.#toState(null) }
    // The strategy adds the stored record here, so that it need not be read again.
    const proven: Entity[] = []
    const finder = findUserFinder(this.#authentication)
    const user = await finder?.getEntity(userId, { ...params, proven })
    const record =
      this.#findOwn(proven, userId) ??
      (await findEntityService(app, service)?.get(userId, createEntityParams(params, {})))
    if (!isObject(record)) throw createRefusal('There is no such user', { userId }, LoginEnded)
    return { result: { [entity]: user }, state: this.#toState(record) }
  }

  /** Resolves to the state of the user that a login has proven; if its strategy recorded none, to the current state. */
  async #findProven(
    userId: string,
    result: AuthenticationResult,
    params: AuthenticationParams,
  ): Promise<UserState> {
    const { entity } = this.#authentication.configuration
    const { proven = [] } = params
    const { passwords } = listLoginFields(this.#authentication)
    // A record with a hash is the stored one. A record without one may be the external view.
    const isStored = (record: unknown): boolean =>
      passwords.some((field) => getField(record, field) !== undefined)
    const returned = [entity == null ? null : result[entity]].filter(isStored)
    const record = this.#findOwn(proven, userId) ?? this.#findOwn(returned, userId)
    if (record !== undefined) return this.#toState(record)
    return (await this.readUser(userId, withoutProvider(params))).state
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

  #toState(record: Entity | null): UserState {
    return new UserState(listLoginFields(this.#authentication), record, this.tokenKeys)
  }

  get #service(): AnyService {
    return findRecordService(this.#authentication.app, this.options.service, 'sessions')
  }
}
