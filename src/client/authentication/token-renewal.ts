import type { AnyApplication } from '../../core/app.ts'
import type { ServiceError } from '../../core/errors/index.ts'
import { toMethodSpec } from '../../core/method-table.ts'
import { isObject } from '../../core/value-kind.ts'
import { createResponseError } from '../answers/response-error.ts'
import type { Answer } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import type { Authorizer, UnsentCall } from '../sent-call.ts'
import { setAuthorizer } from '../sent-call.ts'
import type { LoginResult } from './login-result.ts'
import type { Login, LoginState } from './login-state.ts'
import { isRefusal, toClaims } from './login-state.ts'

/** What {@link CallAuthorizer} needs of its client. */
export interface CallLogin {
  readonly state: LoginState
  /** The header that tokens are sent in, in lower case. */
  readonly headerName: string
  /** Returns the authentication service: the token is for its server. */
  findService(): unknown
  /** Returns the token of the login that a logout in flight ends, `null` for one in a cookie, `undefined` for none. */
  findEndingToken(): string | null | undefined
  /** Returns the header with a token; no header for one in a cookie. */
  toHeader(accessToken: string | undefined): Readonly<Record<string, string>>
  /** Whether the token of a login is to be renewed before it is used. */
  isDue(login: Login): boolean
  /** Resolves to the token in the storage, `null` for none. */
  readToken(): Promise<string | null>
  /** Logs in anew. */
  renew(): Promise<LoginResult>
}

/** Why a call was refused: its token had expired for certain, or anything else about a token. */
type RefusalReason = 'expired' | 'other'

/** What servers say of a token that they do not accept. */
const TOKEN_ERRORS: readonly unknown[] = ['TokenExpiredError', 'JsonWebTokenError']

/** How long calls go on with a token that is still good after its renewal had no answer. */
const RETRY_MS = 5_000

/**
 * Sends calls with the token of the login, to the server of the authentication service alone. Where the
 * token is refused, one new login serves all calls that were refused, and each of them is sent a second
 * time if the server can not have acted on it.
 */
export class CallAuthorizer {
  readonly #login: CallLogin
  /** Before when no token is renewed before its end: the server has just not answered. */
  #retryAt = 0
  /** The renewal that goes on. */
  #running: Promise<void> | undefined
  /** The numbers of the last login that was renewed by its own means, and of what replaced it. */
  #renewed: { readonly from: number; readonly to: number } | undefined
  /** The token that the server accepted at a login after services had refused it, and why they had. */
  #confirmed: { readonly key: string; readonly reasons: Set<RefusalReason> } | undefined

  constructor(login: CallLogin) {
    this.#login = login
  }

  /** Sends a call. Resolves to the answer, the second one where it was sent a second time. */
  async send(call: UnsentCall): Promise<Answer> {
    const { state, headerName, findService, findEndingToken, toHeader } = this.#login
    const service = findService()
    const isGiven = Object.hasOwn(call.headers, headerName)
    if (isGiven || !isSameServer(call.service, service)) return call.send({})
    const ownMethod = call.service.name === service.name ? call.method : undefined
    // A login proves who calls by what it sends; a logout ends the login that it finds.
    if (ownMethod === 'create') return call.send({})
    const ending = findEndingToken()
    if (ownMethod === 'remove' && ending !== undefined)
      return call.send(toHeader(ending ?? undefined))
    let current = await state.settle()
    // A call that was given up while the login went on is not sent any more.
    call.signal?.throwIfAborted()
    const mayRenew = performance.now() >= this.#retryAt
    if (current !== undefined && mayRenew && this.#login.isDue(current))
      current = await this.#renewEarly(current)
    if (current === undefined) return call.send({})
    call.signal?.throwIfAborted()
    const answer = await call.send(toHeader(current.result.accessToken))
    if (answer.status !== 401 || ownMethod !== undefined) return answer
    return this.#sendAgain(call, current, answer)
  }

  /** Resolves to the renewed login; to the one that is there where the server does not answer. */
  async #renewEarly(due: Login): Promise<Login | undefined> {
    try {
      await this.#runOnce(due)
    } catch (error) {
      if (isRefusal(error)) throw error
      this.#retryAt = performance.now() + RETRY_MS
    }
    return this.#login.state.login
  }

  async #sendAgain(call: UnsentCall, refused: Login, answer: Answer): Promise<Answer> {
    const error = createResponseError(answer)
    const { data } = error
    // A browser forgets the cookie of a token that has expired: the server has seen none then.
    const isInCookie = refused.result.accessToken === undefined
    const name = isObject(data) ? data['name'] : undefined
    if (!isInCookie && !TOKEN_ERRORS.includes(name)) throw error
    const reason = findReason(error, refused)
    const renewed = await this.#replace(refused, reason).catch((failure: unknown) => {
      throw isRefusal(failure) ? error : failure
    })
    if (renewed === undefined || renewed.key === refused.key) throw error
    // Any other error may be that of a further server, which was asked after something was written.
    if (reason !== 'expired' && toMethodSpec(call.method).verb !== 'GET') throw error
    call.signal?.throwIfAborted()
    return call.send(this.#login.toHeader(renewed.result.accessToken))
  }

  /**
   * Resolves to the login of the same user that took the place of a refused one; `undefined` if
   * nobody is logged in any more, or somebody who may be another user. A token that a renewal has
   * confirmed is not renewed for the same reason again: each call would lead to one more login.
   */
  async #replace(refused: Login, reason: RefusalReason): Promise<Login | undefined> {
    const { state } = this.#login
    if (state.login === refused && !this.#isConfirmed(refused, reason)) {
      await this.#runOnce(refused)
      if (state.login?.key === refused.key) this.#confirm(refused, reason)
    }
    const { login } = state
    return login !== undefined && this.#isSameUser(login, refused) ? login : undefined
  }

  #isConfirmed({ key }: Login, reason: RefusalReason): boolean {
    return this.#confirmed?.key === key && this.#confirmed.reasons.has(reason)
  }

  #confirm({ key }: Login, reason: RefusalReason): void {
    if (this.#confirmed?.key !== key) {
      this.#confirmed = { key, reasons: new Set() }
    }
    this.#confirmed.reasons.add(reason)
  }

  #runOnce(refused: Login): Promise<void> {
    this.#running ??= this.#run(refused).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(refused: Login): Promise<void> {
    const { state } = this.#login
    // The user may be logging in as somebody else right now.
    if (state.pending !== undefined) {
      await state.pending
      return
    }
    // An unreadable storage is no proof that its token is the one of the refused login.
    const reading = this.#login.readToken().catch(() => null)
    const [kept, result] = await Promise.all([reading, this.#login.renew()])
    const { login } = state
    if (login?.result !== result || login.replaces !== refused.number) return
    const usesOwnToken = login.proof === undefined || login.proof === refused.key
    if (kept !== refused.key || !usesOwnToken) return
    this.#renewed = { from: refused.number, to: login.number }
  }

  /**
   * Users are compared by the claim `sub`. Tokens without one are of the same user only if the refused login
   * itself was renewed: with its token still in the storage, which pages share, and with no logout
   * and no login of somebody else meanwhile.
   */
  #isSameUser(login: Login, refused: Login): boolean {
    const { sub } = toClaims(login)
    const { sub: refusedSub } = toClaims(refused)
    if (sub != null && refusedSub != null) return sub === refusedSub
    return this.#renewed?.from === refused.number && this.#renewed.to === login.number
  }
}

/**
 * Has an authorizer send the calls of an application's services, those too that are added later.
 * Services of applications inside it have logins of their own.
 */
export function authorizeServices(app: AnyApplication, authorizer: Authorizer): void {
  const authorize = (service: object, owner: unknown): void => {
    if (owner === app) setAuthorizer(service, authorizer)
  }
  for (const entry of app.entries.values()) authorize(entry.service, entry.app)
  app.observe((change, _path, entry) => {
    if (change === 'added') authorize(entry.service, entry.app)
    else if (entry.app === app) setAuthorizer(entry.service, undefined)
  })
}

/**
 * Base URLs are compared as a whole: another path at the same host may belong to another operator.
 */
function isSameServer(
  service: UnsentCall['service'],
  authentication: unknown,
): authentication is RemoteService {
  return authentication instanceof RemoteService && service.base === authentication.base
}

/** A token has expired for certain only if the error names the expiry of that very token. */
function findReason({ data }: ServiceError, refused: Login): RefusalReason {
  const { exp } = toClaims(refused)
  const { expiredAt } = Object(data) as { expiredAt?: unknown }
  const isExpiry = exp !== undefined && Date.parse(String(expiredAt)) === exp * 1000
  return isExpiry ? 'expired' : 'other'
}
