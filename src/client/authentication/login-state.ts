import type { AnyApplication } from '../../core/app.ts'
import { InvalidResponse, LoginReplaced } from '../../core/errors/coded-errors.ts'
import { NotAuthenticated, ServiceError } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LoginClaims, LoginResult } from './login-result.ts'

/** A login of this client. */
export interface Login {
  /** The number of the attempt that led to it. */
  readonly number: number
  /** The number of the login that it replaced, `undefined` if there was none. */
  readonly replaces: number | undefined
  /** The number of the login that it has renewed with the token of that login. */
  renews?: number
  /** The token that was sent to log in, `undefined` for a login with other data. */
  readonly proof: string | undefined
  /** Its access token, or the claim `jti` of one in a cookie. Distinguishes the login from others. */
  readonly key: string
  /** The reasons for which services have rejected this token although the server then confirmed it. */
  readonly confirmed: Set<RefusalReason>
  readonly result: LoginResult
  /** When the token should be renewed, by `performance.now()`. */
  readonly dueAt: number
}

/** Why a call was rejected: its token had certainly expired, or anything else about a token. */
export type RefusalReason = 'expired' | 'other'

/** Describes how to log in. */
export interface LoginAttempt {
  /** Whether it renews the current login: a rejection then emits `expired`. */
  readonly isRenewal?: boolean
  /** Whether the login survives a rejection: it is stored elsewhere, where it has not ended. */
  readonly sparesLogin?: boolean
  /** Runs the attempt while no other tab of the browser logs in. */
  lock?<T>(work: () => Promise<T>): Promise<T>
  /** Resolves to the token to log in with, `undefined` for a login with other data. */
  readToken?(): Promise<string | undefined>
  /** Resolves to the token to try if that one is rejected, `undefined` for none. */
  readOtherToken?(): Promise<string | undefined>
  /** Sends the login to the server. */
  send(accessToken: string | undefined, present: Login | undefined): Promise<LoginResult>
}

/** Stores the tokens of logins. */
export interface TokenKeeper {
  /**
   * Returns the access token of a login, or the claim `jti` of one in a cookie. Distinguishes the login from others.
   */
  toKey(result: LoginResult): unknown
  /** Stores the tokens of a new login. The login does not count until this is done. */
  keep(result: LoginResult): Promise<void>
  /** Removes the stored token if it is a rejected one or that of the login. */
  drop(tokens: ReadonlySet<string>): Promise<void>
}

type Proven = Pick<Login, 'proof' | 'result'>

/** A token is visible ASCII: headers reject other characters, or servers read them differently. */
const HEADER_TOKEN = /^[!-~](?:[ -~]*[!-~])?$/

/**
 * Thrown if there is no token to log in with. Calls that wait for this attempt are sent without a token if there was no
 * login before.
 */
export class NoAccessToken extends NotAuthenticated {
  /** The name of the public class: this one is not exported from the package. */
  static override readonly name: string = 'NotAuthenticated'
}

/**
 * The state machine of the client's login: the current login, and the attempts to change it. Each attempt and each
 * logout takes the next number; `#decided` is the number of the latest one that has changed the login. Its invariants:
 *
 * - An attempt with a number below `#decided` changes nothing and rejects. So the attempt that started last wins, in
 * whatever order the responses arrive.
 * - A login counts only once its token is stored; the number is checked again after that.
 * - A rejection (401) ends the login, unless the attempt spares it. A failure without a response changes nothing.
 * - A logout ends the login and all attempts at once.
 * - The setting `authentication` of the application holds a promise of the login's result, or `null`. It shows a new
 * state before the promise of the attempt settles.
 */
export class LoginState {
  readonly #app: AnyApplication
  readonly #keeper: TokenKeeper
  /** The current login, whatever attempts are running. */
  login: Login | undefined
  /** The latest attempt, while it is running. */
  pending: Promise<LoginResult> | undefined
  /** The number of attempts and logouts that have started. */
  #started = 0
  /** The number of the latest one that has changed the login. */
  #decided = 0
  #isRenewing = false
  readonly #ends = new Set<(error: unknown) => void>()
  /** Whether listeners are being notified of a login right now. */
  #isAnnouncing = false

  constructor(app: AnyApplication, keeper: TokenKeeper) {
    this.#app = app
    this.#keeper = keeper
  }

  /** Resolves to the login after the running attempt has ended; rejects as the attempt does. */
  async settle(): Promise<Login | undefined> {
    const before = this.login
    const isRenewing = this.#isRenewing
    try {
      await this.pending
    } catch (error) {
      // If a renewal gets no response, the current token may still be valid.
      const isKept = isRenewing && before !== undefined && !isRefusal(error)
      const isNobody = before === undefined && error instanceof NoAccessToken
      if (!isKept && !isNobody) throw error
    }
    return this.login
  }

  /**
   * Starts an attempt to log in. Resolves to its result once it is the login.
   * @throws {NotAuthenticated} the server rejects it, which ends the previous login; or a logout or a later attempt has
   *   replaced it
   */
  attempt(attempt: LoginAttempt): Promise<LoginResult> {
    this.#started += 1
    const pending = this.#run(this.#started, attempt, this.#isAnnouncing)
    this.pending = pending
    this.#isRenewing = attempt.isRenewal === true
    this.#publish()
    return pending
  }

  /** Ends the login and all attempts, which reject. Returns the login. */
  end(): Login | undefined {
    const { login } = this
    this.#started += 1
    this.#decided = this.#started
    this.login = undefined
    this.pending = undefined
    this.#publish()
    const error = new LoginReplaced('The login has ended before this was done')
    for (const end of this.#ends) end(error)
    return login
  }

  async #run(number: number, attempt: LoginAttempt, isEcho: boolean): Promise<LoginResult> {
    let end: (error: unknown) => void = () => undefined
    const ended = new Promise<never>((_resolve, reject) => {
      end = reject
    })
    this.#ends.add(end)
    const decide = () => this.#decide(number, attempt, isEcho)
    const deciding = Promise.race([attempt.lock?.(decide) ?? decide(), ended])
    const { result, isNews } = await deciding.finally(() => {
      this.#ends.delete(end)
      // Before the promise settles, so that callers waiting for it find the new state.
      if (this.#started === number) this.pending = undefined
      this.#publish()
    })
    if (!isNews) return result
    this.#isAnnouncing = true
    try {
      this.#app.emit('login', result)
      this.#app.emit('authenticated', result)
    } finally {
      this.#isAnnouncing = false
    }
    return result
  }

  /**
   * Resolves to the result once it is the login, and to whether it is news: another token and another session.
   * @param isEcho whether a listener that is being notified of a login has started the attempt
   */
  async #decide(number: number, attempt: LoginAttempt, isEcho: boolean) {
    const { proof, result } = await this.#proveOrEnd(number, attempt)
    const key = result == null ? undefined : this.#keeper.toKey(result)
    if (!isNonEmptyString(key)) {
      throw new InvalidResponse('The server has answered a login without an access token')
    }
    if (!HEADER_TOKEN.test(key)) {
      throw new InvalidResponse(
        'The server has answered a login with a token that no header can hold',
      )
    }
    this.#checkLast(number)
    this.#decided = number
    await this.#keeper.keep(result)
    this.#checkLast(number)
    const before = this.login
    const isSameToken = before?.key === key
    this.login = {
      ...{ number, replaces: before?.number, proof, key, result, dueAt: toDueTime(result) },
      confirmed: isSameToken ? before.confirmed : new Set(),
    }
    const { sid, sub } = toClaims(this.login)
    const { sid: sidBefore, sub: subBefore } = before === undefined ? {} : toClaims(before)
    // A renewed session is not a new login. And a listener of `login` that logs the same user in must not trigger
    // itself.
    const isOther = sub !== subBefore || !(isEcho || (sid !== undefined && sid === sidBefore))
    return { result, isNews: !isSameToken && isOther }
  }

  /** Sends an attempt to the server. A rejection ends the current login. */
  async #proveOrEnd(number: number, attempt: LoginAttempt): Promise<Proven> {
    const tokens = new Set<string>()
    const prove = async (proof: string | undefined): Promise<Proven> => {
      if (proof !== undefined) tokens.add(proof)
      return { proof, result: await attempt.send(proof, this.login) }
    }
    try {
      const first = prove(await attempt.readToken?.())
      return await first.catch(async (error: unknown) => {
        if (!isRefusal(error) || number < this.#decided) throw error
        const other = await attempt.readOtherToken?.()
        if (other === undefined) throw error
        return prove(other)
      })
    } catch (error) {
      if (isRefusal(error) && number >= this.#decided && !attempt.sparesLogin) {
        this.#decided = number
        const ended = this.login
        if (ended !== undefined) tokens.add(ended.key)
        this.login = undefined
        await this.#keeper.drop(tokens).catch((err: unknown) => {
          // Only logged: the caller gets the rejection, which is why the login has ended.
          this.#app.logger.error({ err }, 'A token that the server rejects is still kept')
        })
        if (ended !== undefined && attempt.isRenewal) this.#app.emit('expired', error)
      }
      throw error
    }
  }

  #checkLast(number: number): void {
    if (number >= this.#decided) return
    throw new LoginReplaced('A later login or logout has taken the place of this login')
  }

  #publish(): void {
    const present = this.login === undefined ? null : Promise.resolve(this.login.result)
    this.#app.set('authentication', this.pending ?? present)
  }
}

/** How long before its expiry a token is renewed, in milliseconds, and at most as a fraction of its lifetime. */
const RENEWAL_MS = 30_000
const RENEWAL_PART = 0.1

/** The clock of this machine may be wrong, so only the lifetime counts, starting now. */
function toDueTime({ authentication }: LoginResult): number {
  const { exp, iat } = authentication?.payload ?? {}
  const lifetimeMs = (Number(exp) - Number(iat)) * 1000
  if (!(lifetimeMs > 0)) return Number.POSITIVE_INFINITY
  return performance.now() + lifetimeMs - Math.min(RENEWAL_MS, lifetimeMs * RENEWAL_PART)
}

/** Returns whether the server has rejected the login, rather than being unreachable. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 401
}

/** Returns the claims of a login's token, an empty object if the server does not send them. */
export function toClaims({ result }: Login): LoginClaims {
  return result.authentication?.payload ?? {}
}
