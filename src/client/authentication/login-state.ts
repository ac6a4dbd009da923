import type { AnyApplication } from '../../core/app.ts'
import { GeneralError, NotAuthenticated, ServiceError } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LoginClaims, LoginResult } from './login-result.ts'

/** Who is logged in. */
export interface Login {
  /** The number of the attempt that led to it. */
  readonly number: number
  /** The number of the login whose place it took, `undefined` if nobody was logged in. */
  readonly replaces: number | undefined
  /** The number of the login that it has renewed by the token of that login. */
  renews?: number
  /** The token that was sent to log in, `undefined` for a login by something else. */
  readonly proof: string | undefined
  /** Its access token; the claim `jti` of one in a cookie. Tells the login from others. */
  readonly key: string
  /** Why services have refused this token, which the server then confirmed. */
  readonly confirmed: Set<RefusalReason>
  readonly result: LoginResult
  /** When the token should be renewed, by `performance.now()`. */
  readonly dueAt: number
}

/** Why a call was refused: its token had expired for certain, or anything else about a token. */
export type RefusalReason = 'expired' | 'other'

/** How to log in. */
export interface LoginAttempt {
  /** Whether it renews the login that is there: a refusal then emits `expired`. */
  readonly isRenewal?: boolean
  /** Whether a refusal leaves the login that is there: it does not end where it is kept. */
  readonly sparesLogin?: boolean
  /** Runs the attempt while no other tab of the browser logs in. */
  lock?<T>(work: () => Promise<T>): Promise<T>
  /** Resolves to the token to log in by, `undefined` for a login by something else. */
  readToken?(): Promise<string | undefined>
  /** Resolves to the token to try where that one is refused, `undefined` for none. */
  readOtherToken?(): Promise<string | undefined>
  /** Sends the login to the server. */
  send(accessToken: string | undefined, present: Login | undefined): Promise<LoginResult>
}

/** Keeps the tokens of logins. */
export interface TokenKeeper {
  /** Returns the access token of a login, or the claim `jti` of one in a cookie: it tells the login from others. */
  toKey(result: LoginResult): unknown
  /** Keeps the tokens of a new login. Until that is done, the login does not count. */
  keep(result: LoginResult): Promise<void>
  /** Removes the token that is kept, if it is a refused one or that of the login. Never rejects. */
  drop(tokens: ReadonlySet<string>): Promise<void>
}

type Proven = Pick<Login, 'proof' | 'result'>

/** A token is visible ASCII: headers refuse other characters, or servers read them differently. */
const HEADER_TOKEN = /^[!-~](?:[ -~]*[!-~])?$/

/**
 * Thrown where there is no token to log in by. Calls that wait for this attempt go on without a token
 * if nobody was logged in before.
 */
export class NoAccessToken extends NotAuthenticated {
  /** The name of the public class: this one is not exported from the package. */
  static override readonly name: string = 'NotAuthenticated'
}

/**
 * Who is logged in, and the attempts to change that. Of several attempts the one counts that began
 * last, unless it fails without an answer: that changes nothing. The application has each state as its setting
 * `authentication`: a promise of the login's result, or `null`.
 */
export class LoginState {
  readonly #app: AnyApplication
  readonly #keeper: TokenKeeper
  /** Who is logged in at this moment, whatever goes on. */
  login: Login | undefined
  /** The latest attempt, while it goes on. */
  pending: Promise<LoginResult> | undefined
  /** How many attempts and logouts have begun. */
  #started = 0
  /** The number of the latest one that has changed who is logged in. */
  #decided = 0
  #isRenewing = false
  readonly #ends = new Set<(error: unknown) => void>()
  /** Whether listeners are being told of a login right now. */
  #isAnnouncing = false

  constructor(app: AnyApplication, keeper: TokenKeeper) {
    this.#app = app
    this.#keeper = keeper
  }

  /** Resolves to who is logged in after the attempt that goes on; rejects as that does. */
  async settle(): Promise<Login | undefined> {
    const before = this.login
    const isRenewing = this.#isRenewing
    try {
      await this.pending
    } catch (error) {
      // Without an answer to a renewal, the token that is there may still be good.
      const isKept = isRenewing && before !== undefined && !isRefusal(error)
      const isNobody = before === undefined && error instanceof NoAccessToken
      if (!isKept && !isNobody) throw error
    }
    return this.login
  }

  /**
   * Starts an attempt to log in. Resolves to its result once it is the login.
   * @throws {NotAuthenticated} the server refuses it, which ends the login that was there; or a
   *   logout or a later attempt has taken its place
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
    const error = new NotAuthenticated('The login has ended before this was done')
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
      // Before the promise settles: who waits for it finds the new state.
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
   * Resolves to the result once it is the login, and to whether it is news: another token, and another session.
   * @param isEcho whether a listener that is being told of a login has begun the attempt
   */
  async #decide(number: number, attempt: LoginAttempt, isEcho: boolean) {
    const { proof, result } = await this.#proveOrEnd(number, attempt)
    const key = result == null ? undefined : this.#keeper.toKey(result)
    if (!isNonEmptyString(key)) {
      throw new GeneralError('The server has answered a login without an access token')
    }
    if (!HEADER_TOKEN.test(key)) {
      throw new GeneralError('The server has answered a login with a token that no header can hold')
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
    // A renewed session is no login. And a listener to `login` that logs the same user in must not call itself.
    const isOther = sub !== subBefore || !(isEcho || (sid !== undefined && sid === sidBefore))
    return { result, isNews: !isSameToken && isOther }
  }

  /** Sends an attempt to the server. A refusal ends the login that is there. */
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
        await this.#keeper.drop(tokens)
        if (ended !== undefined && attempt.isRenewal) this.#app.emit('expired', error)
      }
      throw error
    }
  }

  #checkLast(number: number): void {
    if (number >= this.#decided) return
    throw new NotAuthenticated('A later login or logout has taken the place of this login')
  }

  #publish(): void {
    const present = this.login === undefined ? null : Promise.resolve(this.login.result)
    this.#app.set('authentication', this.pending ?? present)
  }
}

/** How long before its end a token is renewed, in milliseconds, and in parts of its lifetime at most. */
const RENEWAL_MS = 30_000
const RENEWAL_PART = 0.1

/** The clock of this machine may be wrong, so that only the lifetime counts, from now on. */
function toDueTime({ authentication }: LoginResult): number {
  const { exp, iat } = authentication?.payload ?? {}
  const lifetimeMs = (Number(exp) - Number(iat)) * 1000
  if (!(lifetimeMs > 0)) return Number.POSITIVE_INFINITY
  return performance.now() + lifetimeMs - Math.min(RENEWAL_MS, lifetimeMs * RENEWAL_PART)
}

/** Whether a server has said no, and was not merely out of reach. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 401
}

/** Returns the claims of a login's token, none where the server does not send them. */
export function toClaims({ result }: Login): LoginClaims {
  return result.authentication?.payload ?? {}
}
