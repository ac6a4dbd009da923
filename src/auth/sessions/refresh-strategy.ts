import type { AuthenticationRequest } from '../../core/index.ts'
import { createRefusal } from '../auth-errors.ts'
import type {
  Authentication,
  AuthenticationResult,
  AuthenticationStrategy,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
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

/** How many used tokens a session keeps: a lost answer can be repeated from that far back. */
const MAX_SPENT = 3
const REFUSED = 'The refresh token is not valid'

/**
 * Renews a session by `{ strategy: 'refresh', refreshToken }`, and rotates its refresh token: each is used once, and
 * replaced by its successor. Tokens that were not made here count as failing logins of their network address.
 */
export class RefreshStrategy implements AuthenticationStrategy {
  readonly #authentication: Authentication
  readonly #sessions: Sessions

  constructor(authentication: Authentication, sessions: Sessions) {
    this.#authentication = authentication
    this.#sessions = sessions
  }

  authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    return this.#refresh(request['refreshToken'], params)
  }

  limitGuesses<T>(
    { refreshToken }: AuthenticationRequest,
    { address, signal }: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    const { app, loginThrottle } = this.#authentication
    // A token that was made here is no guess, and does not wait for the guesses from its address.
    const isMade = readRefreshToken(refreshToken, this.#sessions.tokenKeys) !== null
    if (isMade || loginThrottle === null || address === undefined) return prove()
    return loginThrottle.run(null, address, prove, { logger: app.logger, signal })
  }

  /**
   * Resolves to the result of a login, with a new pair of tokens. A token that was already used gets the same pair
   * within `graceMs`. Later it ends its session: either it or its successor is in other hands.
   * @throws {NotAuthenticated} it was not made here, was used before, its session has ended, or its user has changed
   */
  async #refresh(
    text: unknown,
    params: AuthenticationParams,
    isSecond = false,
  ): Promise<AuthenticationResult> {
    const { tokenKeys } = this.#sessions
    const given = readRefreshToken(text, tokenKeys)
    if (given === null) {
      // A look at the database as well: how long the answer takes says nothing.
      await this.#sessions.patch(createSessionId(), { $currentDate: { checkedAt: true } }, {})
      throw createRefusal(REFUSED, 'it was not made here')
    }
    const generation = given.generation + 1
    const successor = createRefreshToken({ ...given, generation }, tokenKeys)
    // The work on tokens is done while the database works: after the commands have left.
    const [user, next] = await Promise.all([
      // Before anything is written: a user who cannot be read now keeps the token.
      this.#sessions.readUser(given.userId, params),
      afterOutput(() =>
        sealSuccessor(successor, given, Math.ceil(this.#sessions.options.absoluteMs / 1000)),
      ),
    ])
    const result = { authentication: { strategy: 'refresh' }, ...user.result }
    const now = Date.now()
    const renewed = { userId: given.userId, issuedAt: Math.floor(now / 1000) }
    const [isRotated, answer] = await Promise.all([
      this.#rotate(given, { ...successor, next }, user.state, now, params),
      afterOutput(() => this.#renew(result, renewed, successor, params)),
    ])
    if (isRotated) return answer
    const repeated = await this.#repeat(given, user.state, params)
    if (repeated !== null) return this.#renew(result, repeated.session, repeated.token, params)
    // The user may have been read before a change by this session, which has the new marks by now.
    if (!isSecond) return this.#refresh(text, params, true)
    await this.#sessions.end(given.sessionId)
    throw createRefusal(REFUSED, { reason: 'its user has changed', sid: given.sessionId })
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
      // By the clock of the database: those of two processes may differ by more than the grace.
      $currentDate: { [`${place}.at`]: true },
    }
    const alive = { expiresAt: { $gt: new Date(now) }, endsAt: { $gt: new Date(now) } }
    const query = { tokenHash: given.hash, ...alive, ...user.query }
    return (await this.#sessions.patch(given.sessionId, data, query)) !== null
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
    const { app } = this.#authentication
    const sid = given.sessionId
    const session = await this.#sessions.patch(sid, { $currentDate: { checkedAt: true } }, {})
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
    let token: RefreshToken | null = sinceMs <= this.#sessions.options.graceMs ? given : null
    while (token !== null && token.hash !== tokenHash) {
      const next = find(token)?.next
      token = next === undefined ? null : openSuccessor(next, token)
    }
    const caller = describeCaller(params)
    if (token !== null) {
      // The owner, mostly. A thief who is as fast can be told by where this came from.
      app.logger.info({ event: 'repeat', sid, userId, ...caller }, 'A refresh was repeated')
      return { session, token }
    }
    // Of several such requests at the same time, the one that has ended the session says so.
    if (await this.#sessions.end(sid)) {
      const details = { event: 'reuse', sid, userId, ...caller }
      app.logger.warn(details, 'A refresh token was used again')
      app.emit('reuse', { sid, userId })
    }
    throw createRefusal(REFUSED, { reason: 'it was used before', sid })
  }

  /** Resolves to the result of a refresh with a pair of tokens. */
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

/** Resolves to what a function returns, called when the output of this turn of the event loop was written. */
async function afterOutput<T>(work: () => T): Promise<Awaited<T>> {
  await new Promise((resolve) => setImmediate(resolve))
  return await work()
}
