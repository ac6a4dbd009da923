import type { AnyApplication } from '../../core/app.ts'
import type { ServiceError } from '../../core/errors/index.ts'
import { toMethodSpec } from '../../core/method-table.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import { createResponseError } from '../answers/response-error.ts'
import type { Answer } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { mergeHeaders } from '../requests/request-headers.ts'
import type { Authorizer, SentHeaders, UnsentCall } from '../sent-call.ts'
import { setAuthorizer } from '../sent-call.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import type { LoginResult } from './login-result.ts'
import type { Login, LoginState, RefusalReason } from './login-state.ts'
import { isRefusal, toClaims } from './login-state.ts'
import type { TokenStorage } from './token-storage.ts'

/** The part of an `AuthenticationClient` that {@link CallAuthorizer} uses. */
interface RenewingClient {
  readonly app: AnyApplication
  readonly options: AuthenticationClientOptions
  readonly storage: TokenStorage
  /** The authentication service: the token is for its server. */
  readonly service: unknown
  reAuthenticate(force: true): Promise<LoginResult>
}

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
  readonly #client: RenewingClient
  readonly #state: LoginState
  /** The token of the login that a logout ends right now: `null` for one in a cookie, `undefined` for none. */
  ending: string | null | undefined
  /** Before when no token is renewed before its end: the server has just not answered. */
  #retryAt = 0
  /** The renewal that goes on. */
  #running: Promise<void> | undefined

  /** Services of applications inside that of the client have logins of their own. */
  constructor(client: RenewingClient, state: LoginState) {
    this.#client = client
    this.#state = state
    const { app } = client
    const send: Authorizer = (call) => this.#send(call)
    for (const { service, app: owner } of app.entries.values()) {
      if (owner === app) setAuthorizer(service, send)
    }
    app.observe((change, _path, entry) => {
      if (entry.app === app) setAuthorizer(entry.service, change === 'added' ? send : undefined)
    })
  }

  /** Sends a call. Resolves to the answer, the second one where it was sent a second time. */
  async #send(call: UnsentCall): Promise<Answer> {
    const { service, options } = this.#client
    const isGiven = Object.hasOwn(call.headers, options.header.toLowerCase())
    if (isGiven || !isSameServer(call.service, service)) return call.send({})
    const ownMethod = call.service.name === service.name ? call.method : undefined
    // A login proves who calls by what it sends; a logout ends the login that it finds.
    if (ownMethod === 'create') return call.send({})
    const { ending } = this
    if (ownMethod === 'remove' && ending !== undefined) return call.send(this.#toHeader(ending))
    let current = await this.#state.settle()
    // A call that was given up while the login went on is not sent any more.
    call.signal?.throwIfAborted()
    if (current !== undefined && this.#isDue(current)) current = await this.#renewEarly(current)
    if (current === undefined) return call.send({})
    call.signal?.throwIfAborted()
    const answer = await call.send(this.#toHeader(current.result.accessToken))
    if (answer.status !== 401 || ownMethod !== undefined) return answer
    return this.#sendAgain(call, current, answer)
  }

  /** Returns the header with a token; no header for one in a cookie. */
  #toHeader(accessToken: string | null | undefined): SentHeaders {
    const { header, scheme } = this.#client.options
    return accessToken == null ? {} : mergeHeaders({ [header]: `${scheme} ${accessToken}`.trim() })
  }

  /** Whether the token of a login is to be renewed before it is used. */
  #isDue({ dueAt, result }: Login): boolean {
    const isRenewable = this.#client.options.cookie || isNonEmptyString(result['refreshToken'])
    return isRenewable && performance.now() >= Math.max(dueAt, this.#retryAt)
  }

  /** Resolves to the renewed login; to the one that is there where the server does not answer. */
  async #renewEarly(due: Login): Promise<Login | undefined> {
    try {
      await this.#runOnce(due)
    } catch (error) {
      if (isRefusal(error)) throw error
      this.#retryAt = performance.now() + RETRY_MS
    }
    return this.#state.login
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
    return call.send(this.#toHeader(renewed.result.accessToken))
  }

  /**
   * Resolves to the login of the same user that took the place of a refused one; `undefined` if
   * nobody is logged in any more, or somebody who may be another user. A token that a renewal has
   * confirmed is not renewed for the same reason again: each call would lead to one more login.
   */
  async #replace(refused: Login, reason: RefusalReason): Promise<Login | undefined> {
    if (this.#state.login === refused && !refused.confirmed.has(reason)) {
      await this.#runOnce(refused)
      if (this.#state.login?.key === refused.key) refused.confirmed.add(reason)
    }
    const { login } = this.#state
    return login !== undefined && isSameUser(login, refused) ? login : undefined
  }

  #runOnce(refused: Login): Promise<void> {
    this.#running ??= this.#run(refused).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(refused: Login): Promise<void> {
    // The user may be logging in as somebody else right now.
    if (this.#state.pending !== undefined) {
      await this.#state.pending
      return
    }
    const { storage, options } = this.#client
    // An unreadable storage is no proof that its token is the one of the refused login.
    const read = async (): Promise<unknown> => storage.getItem(options.storageKey)
    const reading = read().catch(() => null)
    const [kept, result] = await Promise.all([reading, this.#client.reAuthenticate(true)])
    const { login } = this.#state
    if (login?.result !== result || login.replaces !== refused.number) return
    const usesOwnToken = login.proof === undefined || login.proof === refused.key
    if (kept === refused.key && usesOwnToken) login.renews = refused.number
  }
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

/**
 * Users are compared by the claim `sub`. Tokens without one are of the same user only if the refused login
 * itself was renewed: with its token still in the storage, which pages share, and with no logout
 * and no login of somebody else meanwhile.
 */
function isSameUser(login: Login, refused: Login): boolean {
  const { sub } = toClaims(login)
  const { sub: refusedSub } = toClaims(refused)
  if (sub != null && refusedSub != null) return sub === refusedSub
  return login.renews === refused.number
}
