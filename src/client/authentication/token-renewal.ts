import type { AnyApplication } from '../../core/app.ts'
import type { ServiceError } from '../../core/errors/index.ts'
import { toMethodSpec } from '../../core/method-table.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import { createResponseError } from '../answers/response-error.ts'
import type { Answer } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { mergeHeaders } from '../requests/request-headers.ts'
import type { Authorizer, SentHeaders, UnsentCall } from '../sent-call.ts'
import { setAuthorizer } from '../sent-call.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import type { Login, LoginState, RefusalReason } from './login-state.ts'
import { isRefusal, toClaims } from './login-state.ts'
import { orNull, sendRefresh } from './session-refresh.ts'
import type { TokenStorage } from './token-storage.ts'

/** The part of an `AuthenticationClient` that {@link CallAuthorizer} uses. */
interface RenewingClient {
  readonly app: AnyApplication
  readonly options: AuthenticationClientOptions
  readonly storage: TokenStorage
  /** The authentication service. The token is for its server only. */
  readonly service: unknown
  reAuthenticate(force: true): Promise<LoginResult>
}

/** The names that servers give to errors about an invalid token. */
const TOKEN_ERRORS: readonly unknown[] = ['TokenExpiredError', 'JsonWebTokenError']

/** How long calls continue with a token that is still valid after its renewal got no response. */
const RETRY_MS = 5_000

/**
 * Sends calls with the token of the login, only to the server of the authentication service. If the token is rejected,
 * one new login serves all rejected calls, and each of them is repeated once if the server cannot have acted on it.
 */
export class CallAuthorizer {
  readonly #client: RenewingClient
  readonly #state: LoginState
  /** The token of the login that a logout is ending: `null` for one in a cookie, `undefined` for none. */
  #ending: string | null | undefined
  readonly #logouts = new SerialQueue()
  /** Until then no token is renewed early: the server has just failed to respond. */
  #retryAt = 0
  /** The running renewal. */
  #running: Promise<void> | undefined

  /** Services of mounted applications have their own logins and are left out. */
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

  /**
   * Ends a login on the server, after earlier requests. Resolves to the server's result, `null` if the server does not
   * know the login.
   * @param accessToken `null` for one in a cookie
   */
  endLogin(accessToken: string | null, refreshToken?: string): Promise<LoginResult | null> {
    const service = this.#client.service as LoginService
    const remove = (token: string | null): Promise<LoginResult | null> => {
      this.#ending = token
      return orNull(service.remove(null))
    }
    return this.#logouts.run(async () => {
      try {
        const result = await remove(accessToken)
        if (result !== null || refreshToken === undefined) return result
        // The session outlives its access token: a new one is needed to end it.
        const renewed = await orNull(sendRefresh(service, refreshToken))
        return renewed && (await remove(renewed.accessToken))
      } finally {
        this.#ending = undefined
      }
    })
  }

  /** Sends a call. Resolves to the response, the second one if the call was repeated. */
  async #send(call: UnsentCall): Promise<Answer> {
    const { service, options } = this.#client
    const isGiven = Object.hasOwn(call.headers, options.header.toLowerCase())
    // Compares complete base URLs: another path on the same host may belong to another operator.
    const isOther = !(service instanceof RemoteService) || call.service.base !== service.base
    if (isGiven || isOther) return call.send({})
    const ownMethod = call.service.name === service.name ? call.method : undefined
    // A login needs no token, and a logout sends that of the login it ends.
    if (ownMethod === 'create') return call.send({})
    const ending = ownMethod === 'remove' ? this.#ending : undefined
    if (ending !== undefined) return call.send(this.#toHeader(ending))
    let current = await this.#state.settle()
    // A call that was aborted while the login was running is not sent.
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

  /** Returns whether the token of a login should be renewed before it is used. */
  #isDue({ dueAt, result }: Login): boolean {
    const isRenewable = this.#client.options.cookie || isNonEmptyString(result['refreshToken'])
    return isRenewable && performance.now() >= Math.max(dueAt, this.#retryAt)
  }

  /** Resolves to the renewed login; to the current one if the server does not respond. */
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
    // Browsers drop the cookie of an expired token, so the server has not seen one.
    const isInCookie = refused.result.accessToken === undefined
    const name = isObject(data) ? data['name'] : undefined
    if (!isInCookie && !TOKEN_ERRORS.includes(name)) throw error
    const reason = findReason(error, refused)
    const renewed = await this.#replace(refused, reason).catch((failure: unknown) => {
      throw isRefusal(failure) ? error : failure
    })
    if (renewed === undefined || renewed.key === refused.key) throw error
    // Any other error may come from another server, which was called after something was written.
    if (reason !== 'expired' && toMethodSpec(call.method).verb !== 'GET') throw error
    call.signal?.throwIfAborted()
    return call.send(this.#toHeader(renewed.result.accessToken))
  }

  /**
   * Resolves to the login of the same user that has replaced a rejected one; `undefined` if there is none, or possibly
   * one of another user. A token that a renewal has confirmed is not renewed for the same reason again: each call would
   * cause one more login.
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
    // Another user may be logging in right now.
    if (this.#state.pending !== undefined) {
      await this.#state.pending
      return
    }
    const { storage, options } = this.#client
    // If the storage is unreadable, its token may not be the one of the rejected login.
    const read = async (): Promise<unknown> => storage.getItem(options.storageKey)
    const reading = read().catch(() => null)
    const [kept, result] = await Promise.all([reading, this.#client.reAuthenticate(true)])
    const { login } = this.#state
    if (login?.result !== result || login.replaces !== refused.number) return
    const usesOwnToken = login.proof === undefined || login.proof === refused.key
    if (kept === refused.key && usesOwnToken) login.renews = refused.number
  }
}

/** A token has certainly expired only if the error names the expiry of that very token. */
function findReason({ data }: ServiceError, refused: Login): RefusalReason {
  const { exp } = toClaims(refused)
  const { expiredAt } = Object(data) as { expiredAt?: unknown }
  const isExpiry = exp !== undefined && Date.parse(String(expiredAt)) === exp * 1000
  return isExpiry ? 'expired' : 'other'
}

/**
 * Compares users by the claim `sub`. Tokens without it belong to the same user only if the rejected login itself was
 * renewed: with its token still in the storage, which tabs share, and with no logout and no other login in between.
 */
function isSameUser(login: Login, refused: Login): boolean {
  const { sub } = toClaims(login)
  const { sub: refusedSub } = toClaims(refused)
  if (sub != null && refusedSub != null) return sub === refusedSub
  return login.renews === refused.number
}
