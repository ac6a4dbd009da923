import type { Application, Params, Query } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import { createRefusal, orNone, orRefused } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult, ProvenLogin } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { UserFinder } from '../entity-service.ts'
import { findRecordService } from '../guarded-service.ts'
import type { RefreshToken } from './refresh-token.ts'
import {
  createRefreshToken,
  createSessionId,
  openSuccessor,
  readRefreshToken,
  sealSuccessor,
} from './refresh-token.ts'
import type { ResolvedSessionOptions } from './session-options.ts'
import { SessionTokens, toResult } from './session-tokens.ts'
import { SessionUsers } from './session-users.ts'
import type { SessionService, SpentToken, StoredSession } from './stored-session.ts'
import { describeCaller } from './stored-session.ts'
import type { UserState } from './user-state.ts'

/** What `app.on('sessionEnd')` gets: `{ sid }` of one session, or `{ userId, keep }` for all of a user but `keep`. */
export interface SessionEnd {
  readonly sid?: string
  readonly userId?: string
  readonly keep?: string | undefined
}

/** How many used tokens a session keeps: a lost answer can be repeated from that far back. */
const MAX_SPENT = 3
const MAX_CHECKED = 10_000
const REFUSED = 'The refresh token is not valid'

/** The sessions of one authentication service. */
export class Sessions {
  readonly tokens: SessionTokens
  readonly #app: Application
  readonly #users: SessionUsers
  /** Until when a session need not be looked up again, by its id and `performance.now()`. */
  #checked = new BoundedMap<string, number>(MAX_CHECKED)

  constructor(authentication: Authentication) {
    this.tokens = new SessionTokens(authentication)
    this.#app = authentication.app
    this.#users = new SessionUsers(authentication)
  }

  get options(): ResolvedSessionOptions {
    return this.tokens.options
  }

  /**
   * Begins a session for a login. Resolves to the result of the login with an access token and a refresh token.
   * @throws {NotAuthenticated} the user has changed since, or may no longer log in
   */
  async begin(login: ProvenLogin): Promise<AuthenticationResult> {
    const { result, payload, tokenOptions, params } = login
    const { idleMs, absoluteMs, maxPerUser } = this.options
    const now = Date.now()
    const sid = createSessionId()
    const userId = tokenOptions.subject ?? ''
    const token = createRefreshToken({ sessionId: sid, userId, generation: 0 }, this.tokens.keys)
    const issuedAt = Math.floor(now / 1000)
    const accessToken = await this.tokens.sign(token, issuedAt, payload, tokenOptions, params)
    const proven = await this.#users.findProven(userId, result, params, this.tokens.keys)
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
    return toResult(result, accessToken, token)
  }

  /**
   * Compares the user that a login has proven with the stored user. The session is stored before, so that a later
   * change of the user ends it with the others.
   * @throws {NotAuthenticated} the user has changed since, or may no longer log in
   */
  async #confirm(
    { _id, userId }: StoredSession,
    proven: UserState,
    params: AuthenticationParams,
  ): Promise<void> {
    try {
      const state = await this.#users.confirm(userId, proven, params, this.tokens.keys)
      if (state.findChange(proven.marks) === null) return
      // The strategy has noted only a part of the record.
      await this.#patch(_id, { marks: state.marks }, {})
    } catch (error) {
      await this.end(_id)
      throw error
    }
  }

  /** Ends the sessions that a user has used longest ago. With the new one, `count` are left. */
  async #endSurplus({ _id, userId }: StoredSession, count: number): Promise<void> {
    const others = { userId, _id: { $ne: _id } }
    const query = { ...others, $sort: { usedAt: -1 }, $skip: count - 1, $select: ['_id'] }
    const surplus = await this.#service.find({ query, paginate: false } as Params)
    await Promise.all((surplus as readonly StoredSession[]).map((one) => this.end(one._id)))
  }

  /**
   * Resolves to the result of a login, with a new pair of tokens. A token that was used already is answered with
   * the same pair within `graceMs`. Later it ends its session: either it or its successor is in other hands.
   * @throws {NotAuthenticated} it was not made here, was used before, its session has ended, or its user has changed
   */
  async refresh(
    text: unknown,
    params: AuthenticationParams,
    isSecond = false,
  ): Promise<AuthenticationResult> {
    const given = readRefreshToken(text, this.tokens.keys)
    if (given === null) {
      // A look at the database as well: how long the answer takes says nothing.
      await this.#patch(createSessionId(), { $currentDate: { checkedAt: true } }, {})
      throw createRefusal(REFUSED, 'it was not made here')
    }
    const generation = given.generation + 1
    const successor = createRefreshToken({ ...given, generation }, this.tokens.keys)
    // The work on tokens is done while the database works: after the commands have left.
    const [user, next] = await Promise.all([
      // Before anything is written: a user who can not be read now keeps the token.
      this.#users.read(given.userId, params, this.tokens.keys),
      afterOutput(() => sealSuccessor(successor, given, Math.ceil(this.options.absoluteMs / 1000))),
    ])
    const result = { authentication: { strategy: 'refresh' }, ...user.result }
    const now = Date.now()
    const renewed = { userId: given.userId, issuedAt: Math.floor(now / 1000) }
    const [isRotated, answer] = await Promise.all([
      this.#rotate(given, { ...successor, next }, user.state, now, params),
      afterOutput(() => this.tokens.renew(result, renewed, successor, params)),
    ])
    if (isRotated) return answer
    const repeated = await this.#repeat(given, user.state, params)
    if (repeated !== null)
      return this.tokens.renew(result, repeated.session, repeated.token, params)
    // The user may have been read before a change by this session, which has the new marks by now.
    if (!isSecond) return this.refresh(text, params, true)
    await this.end(given.sessionId)
    throw createRefusal(REFUSED, { reason: 'its user has changed', sid: given.sessionId })
  }

  /** @throws {NotAuthenticated} the session of an access token has ended, and `checkSession` is `'always'` */
  async check(sid: string): Promise<void> {
    const { checksAlways, checkCacheMs } = this.options
    if (!checksAlways || (this.#checked.get(sid) ?? 0) > performance.now()) return
    const session = await orNone(this.#service.get(sid, {}))
    if (session === null) throw createRefusal('The session has ended', { sid })
    if (checkCacheMs > 0) this.#checked.set(sid, performance.now() + checkCacheMs)
  }

  /** Ends one session. Resolves to whether it was there. */
  async end(sid: string): Promise<boolean> {
    // The guard of the service notes the end of one that was there.
    const session = await orNone(this.#service.remove(sid, {}))
    if (session === null) this.noteEnd({ sid })
    return session !== null
  }

  /** Ends the session of a refresh token. Resolves to whether the token was made here, and the session there. */
  async endByToken(text: string, ended?: unknown): Promise<boolean> {
    const token = readRefreshToken(text, this.tokens.keys)
    return token !== null && token.sessionId !== ended && this.end(token.sessionId)
  }

  /** Ends all sessions of a user, but for one where its id is given. */
  async endAll(userId: string, keep?: string): Promise<void> {
    if (userId === '') throw new BadRequest('Cannot end sessions: no user is given')
    await this.#removeAll({ userId, ...(keep === undefined ? {} : { _id: { $ne: keep } }) })
    this.noteEnd({ userId, keep })
  }

  /** Ends the sessions that know their user in another state than the stored one: all, if the user is gone. */
  async endOutdated(userId: string): Promise<void> {
    const user = await orRefused(this.#users.read(userId, {}, this.tokens.keys))
    const ended = await this.#removeAll({ userId, ...user?.state.outdatedQuery })
    for (const { _id } of ended) this.noteEnd({ sid: _id })
  }

  #removeAll(query: Query): Promise<readonly StoredSession[]> {
    const params = { query, adapter: { multi: ['remove'] } } as Params
    return this.#service.remove(null, params) as Promise<readonly StoredSession[]>
  }

  /**
   * Stores the present state of a user in the session that has changed it, so that the session goes on.
   * @param setsActive whether the change has set `isActive`. If not, the session keeps its mark of `isActive`
   */
  async keep(sid: string, userId: string, setsActive: boolean): Promise<void> {
    const user = await orRefused(this.#users.read(userId, {}, this.tokens.keys))
    if (user === null) return
    await this.#patch(sid, { $set: user.state.toChange(setsActive) }, { userId })
  }

  /** Forgets that sessions were looked up, and emits `sessionEnd`, which ends their streams. */
  noteEnd(end: SessionEnd): void {
    if (end.sid === undefined) this.#checked = new BoundedMap(MAX_CHECKED)
    else this.#checked.delete(end.sid)
    this.#app.emit('sessionEnd', end)
  }

  /**
   * Replaces the refresh token of a session by its successor. Resolves to whether the given token was the current one
   * and the user has not changed. One command checks both.
   * @param now in ms since the epoch
   */
  async #rotate(
    given: RefreshToken,
    successor: RefreshToken & { readonly next: string },
    user: UserState,
    now: number,
    params: AuthenticationParams,
  ): Promise<boolean> {
    const { idleMs } = this.options
    const place = `spent.${given.generation % MAX_SPENT}`
    const data = {
      $set: {
        tokenHash: successor.hash,
        marks: user.marks,
        usedAt: new Date(now),
        expiresAt: new Date(now + idleMs),
        issuedAt: Math.floor(now / 1000),
        ...describeCaller(params),
        [`${place}.hash`]: given.hash,
        [`${place}.next`]: successor.next,
      },
      // By the clock of the database: those of two processes may differ by more than the grace.
      $currentDate: { [`${place}.at`]: true },
    }
    const alive = { expiresAt: { $gt: new Date(now) }, endsAt: { $gt: new Date(now) } }
    const query = { tokenHash: given.hash, ...alive, ...user.query }
    return (await this.#patch(given.sessionId, data, query)) !== null
  }

  /**
   * Resolves to the newest token of a session, for a token that was used within `graceMs`: its answer may be lost.
   * `null` if the session has marks of another state of its user.
   * @throws {NotAuthenticated} it was used earlier, which ends the session; or the session has ended
   */
  async #repeat(
    given: RefreshToken,
    user: UserState,
    params: AuthenticationParams,
  ): Promise<{ session: StoredSession; token: RefreshToken } | null> {
    const sid = given.sessionId
    const session = await this.#patch(sid, { $currentDate: { checkedAt: true } }, {})
    if (session === null) throw createRefusal(REFUSED, { reason: 'its session has ended', sid })
    if (user.findChange(session.marks) !== null) return null
    const { spent, checkedAt, tokenHash, userId, expiresAt, endsAt } = session
    if (Math.min(expiresAt.getTime(), endsAt.getTime()) <= Date.now()) {
      throw createRefusal(REFUSED, { reason: 'its session has expired', sid })
    }
    const find = ({ hash, generation }: RefreshToken): SpentToken | undefined => {
      const used = spent[generation % MAX_SPENT]
      return used?.hash === hash ? used : undefined
    }
    const sinceMs = Number(checkedAt) - Number(find(given)?.at)
    let token: RefreshToken | null = sinceMs <= this.options.graceMs ? given : null
    while (token !== null && token.hash !== tokenHash) {
      const next = find(token)?.next
      token = next === undefined ? null : openSuccessor(next, token)
    }
    const caller = describeCaller(params)
    if (token !== null) {
      // The owner, mostly. A thief who is as fast can be told by where this came from.
      this.#app.logger.info({ event: 'repeat', sid, userId, ...caller }, 'A refresh was repeated')
      return { session, token }
    }
    // Of several such requests at the same time, the one that has ended the session says so.
    if (await this.end(sid)) {
      const details = { event: 'reuse', sid, userId, ...caller }
      this.#app.logger.warn(details, 'A refresh token was used again')
      this.#app.emit('reuse', { sid, userId })
    }
    throw createRefusal(REFUSED, { reason: 'it was used before', sid })
  }

  /** The strategy that finds users by their ids, `undefined` for none. */
  get finder(): UserFinder | undefined {
    return this.#users.finder
  }

  #patch(sid: string, data: object, query: object): Promise<StoredSession | null> {
    const patched = this.#service.patch(sid, data, { query } as Params)
    return orNone(patched) as Promise<StoredSession | null>
  }

  get #service(): SessionService {
    return findRecordService(this.#app, this.options.service, 'sessions')
  }
}

/** Resolves to what a function returns, called when the output of this turn of the event loop was written. */
async function afterOutput<T>(work: () => T): Promise<Awaited<T>> {
  await new Promise((resolve) => setImmediate(resolve))
  return await work()
}
