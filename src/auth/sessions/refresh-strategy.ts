import { InvalidToken } from '../../core/errors/coded-errors.ts'
import type { AuthenticationRequest } from '../../core/index.ts'
import { createRefusal } from '../auth-errors.ts'
import type {
  Authentication,
  AuthenticationResult,
  AuthenticationStrategy,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { limitLogins } from '../proof.ts'
import type { RefreshToken } from './refresh-token.ts'
import {
  createRefreshToken,
  createSessionId,
  openSuccessor,
  readRefreshToken,
  sealSuccessor,
} from './refresh-token.ts'
import type { Sessions } from './sessions.ts'
import type { SpentToken, StoredSession } from './stored-session.ts'
import { describeCaller } from './stored-session.ts'
import type { UserState } from './user-state.ts'

/** How many used tokens a session keeps: a lost response can be repeated from that far back. */
const MAX_SPENT = 3
const REFUSED = 'The refresh token is not valid'

/**
 * Renews a session by `{ strategy: 'refresh', refreshToken }`, and rotates its refresh token: each is single-use and
 * replaced by its successor. Tokens that were not issued here count as failed logins from their network address.
 */
export class RefreshStrategy implements AuthenticationStrategy {
  readonly #authentication: Authentication
  readonly #sessions: Sessions

  constructor(authentication: Authentication, sessions: Sessions) {
    this.#authentication = authentication
    this.#sessions = sessions
  }

  limitGuesses<T>(
    { refreshToken }: AuthenticationRequest,
    params: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    // A token that was issued here is not a guess, and does not wait for the guesses from its address.
    const isMade = readRefreshToken(refreshToken, this.#sessions.tokenKeys) !== null
    if (isMade || params.address === undefined) return prove()
    return limitLogins(this.#authentication, null, params, prove)
  }

  /**
   * Resolves to the result of a login with a new pair of tokens. A token that was already used gets the same pair
   * within `graceMs`. After that it ends its session: it or its successor has been stolen.
   * @throws {NotAuthenticated} the token was not issued here or was used before, its session has ended, or its user has
   *   changed
   */
  authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    return this.#refresh(request, params, { isSecond: false })
  }

  async #refresh(
    request: AuthenticationRequest,
    params: AuthenticationParams,
    { isSecond }: { readonly isSecond: boolean },
  ): Promise<AuthenticationResult> {
    const { tokenKeys } = this.#sessions
    const given = readRefreshToken(request['refreshToken'], tokenKeys)
    if (given === null) {
      // Queries the database here too, so that the response time reveals nothing.
      await this.#sessions.patch(createSessionId(), { $currentDate: { checkedAt: true } }, {})
      throw createRefusal(REFUSED, 'it was not made here', InvalidToken)
    }
    const generation = given.generation + 1
    const successor = createRefreshToken({ ...given, generation }, tokenKeys)
    // Read before anything is written: if the user cannot be read now, the token stays valid.
    const user = await this.#sessions.readUser(given.userId, params)
    const lifetime = Math.ceil(this.#sessions.options.absoluteMs / 1000)
    const next = sealSuccessor(successor, given, lifetime)
    const result = { authentication: { strategy: 'refresh' }, ...user.result }
    const now = Date.now()
    const renewed = { userId: given.userId, issuedAt: Math.floor(now / 1000) }
    const [isRotated, answer] = await Promise.all([
      this.#rotate(given, { ...successor, next }, user.state, now, params),
      // Creates tokens while the database works.
      this.#renew(result, renewed, successor, params),
    ])
    if (isRotated) return answer
    const repeated = await this.#repeat(given, user.state, params)
    if (repeated !== null) return this.#renew(result, repeated.session, repeated.token, params)
    // The user may have been read before a change by this same session, which has the new marks by now.
    if (!isSecond) return this.#refresh(request, params, { isSecond: true })
    await this.#sessions.end(given.sessionId)
    throw createRefusal(
      REFUSED,
      { reason: 'its user has changed', sid: given.sessionId },
      InvalidToken,
    )
  }

  /**
   * Replaces the refresh token of a session with its successor. Resolves to whether the given token was the current one
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
    const { idleMs } = this.#sessions.options
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
      // Uses the clock of the database: those of two processes may differ by more than the grace period.
      $currentDate: { [`${place}.at`]: true },
    }
    const alive = { expiresAt: { $gt: new Date(now) }, endsAt: { $gt: new Date(now) } }
    const query = { tokenHash: given.hash, ...alive, ...user.query }
    return (await this.#sessions.patch(given.sessionId, data, query)) !== null
  }

  /**
   * Resolves to the newest token of a session, for a token that was used within `graceMs`, as its response may have
   * been lost. `null` if the marks of the session show another state of its user.
   * @throws {NotAuthenticated} the token was used earlier, which ends the session; or the session has ended
   */
  async #repeat(
    given: RefreshToken,
    user: UserState,
    params: AuthenticationParams,
  ): Promise<{ session: StoredSession; token: RefreshToken } | null> {
    const { app } = this.#authentication
    const sid = given.sessionId
    const session = await this.#sessions.patch(sid, { $currentDate: { checkedAt: true } }, {})
    if (session === null)
      throw createRefusal(REFUSED, { reason: 'its session has ended', sid }, InvalidToken)
    if (user.findChange(session.marks) !== null) return null
    const { spent, checkedAt, tokenHash, userId, expiresAt, endsAt } = session
    if (Math.min(expiresAt.getTime(), endsAt.getTime()) <= Date.now()) {
      throw createRefusal(REFUSED, { reason: 'its session has expired', sid }, InvalidToken)
    }
    const find = ({ hash, generation }: RefreshToken): SpentToken | undefined => {
      const used = spent[generation % MAX_SPENT]
      return used?.hash === hash ? used : undefined
    }
    const sinceMs = Number(checkedAt) - Number(find(given)?.at)
    let token: RefreshToken | null = sinceMs <= this.#sessions.options.graceMs ? given : null
    while (token !== null && token.hash !== tokenHash) {
      const next = find(token)?.next
      token = next === undefined ? null : openSuccessor(next, token)
    }
    const caller = describeCaller(params)
    if (token !== null) {
      // Usually the owner. The log says where it came from, which tells an equally fast thief apart.
      app.logger.info({ event: 'repeat', sid, userId, ...caller }, 'A refresh was repeated')
      return { session, token }
    }
    // Of several such requests at once, only the one that ended the session logs it.
    if (await this.#sessions.end(sid)) {
      const details = { event: 'reuse', sid, userId, ...caller }
      app.logger.warn(details, 'A refresh token was used again')
      app.emit('reuse', { sid, userId })
    }
    throw createRefusal(REFUSED, { reason: 'it was used before', sid }, InvalidToken)
  }

  /** Resolves to the result of a refresh, with a pair of tokens. */
  async #renew(
    result: AuthenticationResult,
    { userId, issuedAt }: Pick<StoredSession, 'userId' | 'issuedAt'>,
    token: RefreshToken,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    const authentication = this.#authentication
    const payload = await authentication.getPayload(result, params)
    const options = await authentication.getTokenOptions(result, params)
    const tokenOptions = userId === '' ? options : { ...options, subject: userId }
    return this.#sessions.issue(token, issuedAt, { result, payload, tokenOptions, params })
  }
}
