import {
  InvalidData,
  InvalidSocketCall,
  LoginRequired,
  OriginNotAllowed,
} from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import type { AroundHook, AuthenticationRequest, Headers, HookContext } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import { isFromDeveloper, isLocalHost } from '../../core/local-request.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import { createRefusal, NO_ATTEMPT } from '../auth-errors.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationResult,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { Cookie } from '../cookies.ts'
import { findCookies, toSetCookie } from '../cookies.ts'
import { findUserFinder } from '../entity-service.ts'
import { getTokenClaims } from '../proof.ts'
import { parseUrl } from '../settings-values.ts'
import type { TokenKind } from './session-options.ts'
import { toCookieName } from './session-options.ts'
import type { Sessions } from './sessions.ts'

/** HTTP methods that change nothing: pages of other sites may send them, but cannot read the response. */
const SAFE_METHODS: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS']

/** Moves the tokens of sessions between calls and cookies, which no script can read. */
export class SessionCookies {
  readonly #authentication: Authentication
  readonly #sessions: Sessions
  #hasWarned = false

  constructor(authentication: Authentication, sessions: Sessions) {
    this.#authentication = authentication
    this.#sessions = sessions
  }

  /**
   * Returns the access token in a cookie of a request, as a strategy reads it; `null` if there is none.
   * @param strategies the names of those that may read the request
   * @throws {Forbidden} the request may write, and was not sent by a page of `origins`
   */
  parse(
    request: AuthenticationHttpRequest,
    strategies: readonly string[],
  ): AuthenticationRequest | null {
    if (this.#sessions.options.cookie !== 'all') return null
    const finder = findUserFinder(this.#authentication)
    if (finder === undefined || !strategies.includes(finder.name)) return null
    const { headers, method } = request
    const accessToken = this.#read('access', headers)
    if (accessToken === null) return null
    if (!SAFE_METHODS.includes(method)) this.#checkOrigin(headers, request.url)
    return { strategy: finder.name, accessToken }
  }

  /** Returns a hook of the authentication service that moves tokens into cookies and reads them from there. */
  createHook(): AroundHook {
    return async (context, next) => {
      if (!this.#sessions.options.cookie || context.params.provider === undefined) return next()
      await (context.method === 'create' ? this.#logIn(context, next) : this.#logOut(context, next))
      hideTokens(context, this.#sessions.options.cookie)
      checkBody(context, this.#sessions.options.cookie)
    }
  }

  async #logIn(context: HookContext, next: () => Promise<void>): Promise<void> {
    const { headers = {}, requestUrl } = context.params
    const before = this.#read('refresh', headers)
    const data: Record<string, unknown> = isObject(context.data) ? context.data : {}
    const isRefresh = data['strategy'] === 'refresh'
    if (context.params.connection !== undefined) {
      if (data['strategy'] !== findUserFinder(this.#authentication)?.name) {
        throw new InvalidSocketCall(
          'A socket cannot set the cookie of a session: log in over HTTP, then connect with the access token',
        )
      }
      // Only a login that relied on the cookie could have been sent by a page of another site.
      if (data['accessToken'] !== this.#read('access', headers)) return next()
    }
    // A page of another site could log its visitors in to the attacker's account. Only browsers send these headers.
    const isOfPage = headers['origin'] !== undefined || headers['sec-fetch-site'] !== undefined
    if (isRefresh || isOfPage) this.#checkOrigin(headers, requestUrl)
    if (isRefresh) {
      if ('refreshToken' in data) {
        throw new InvalidData("'refreshToken' is only read from its cookie")
      }
      // Every visit of a guest tries to renew a session, so this is not logged.
      if (before === null)
        throw createRefusal('There is no session to be refreshed', NO_ATTEMPT, LoginRequired)
      context.data = { ...data, refreshToken: before }
    }
    await next()
    const { accessToken, refreshToken } = Object(context.result) as Record<string, unknown>
    // A login with an access token starts no session.
    if (!isNonEmptyString(refreshToken)) return
    const { accessSeconds, idleMs, absoluteMs, cookie } = this.#sessions.options
    const seconds = Math.floor(Math.min(idleMs, absoluteMs) / 1000)
    const isAll = cookie === 'all'
    try {
      this.#set(context, [
        ...this.#create('refresh', refreshToken, seconds, context.params),
        ...(isAll ? this.#create('access', accessToken, accessSeconds, context.params) : []),
      ])
    } catch (error) {
      await this.#sessions.endByToken(refreshToken)
      throw error
    }
    // A cookie copied from this browser before the login must not work after it.
    if (!isRefresh && before !== null) await this.#sessions.endByToken(before)
  }

  async #logOut(context: HookContext, next: () => Promise<void>): Promise<void> {
    const { headers = {}, query = {}, requestUrl } = context.params
    const refreshToken = this.#read('refresh', headers)
    try {
      await next()
    } catch (error) {
      // Usually the access token has expired: the refresh token can end the session too.
      const isRefused = error instanceof ServiceError && error.code === 401
      if (!isRefused || context.id != null || refreshToken === null) throw error
      this.#checkOrigin(headers, requestUrl)
      if (!(await this.#sessions.endByToken(refreshToken))) throw error
      context.result = { authentication: { strategy: 'refresh' } }
      return this.#forget(context)
    }
    if (context.id === 'all' && query['keep'] !== undefined) return
    if (refreshToken !== null && this.#isAllowed(headers, requestUrl)) {
      // The token in the header may belong to another session than the cookie.
      const { authentication } = Object(context.result) as AuthenticationResult
      await this.#sessions.endByToken(refreshToken, getTokenClaims(authentication)['sid'])
    }
    this.#forget(context)
  }

  /** Removes both cookies from the browser. */
  #forget(context: HookContext): void {
    const kinds: TokenKind[] = ['refresh', 'access']
    this.#set(
      context,
      kinds.flatMap((kind) => this.#create(kind, '', 0, context.params)),
    )
  }

  /** Returns the token in the cookie of a kind; `null` if the request has none or two of them. */
  #read(kind: TokenKind, headers: Headers = {}): string | null {
    const { cookie } = headers
    if (cookie === undefined) return null
    const names = [this.#getName(kind, true)]
    // Neighbouring hosts can set a cookie without the prefix.
    if (isNear(headers)) names.push(this.#getName(kind, false))
    const found = findCookies(cookie, names)
    const [, value = ''] = found[0] ?? []
    return found.length === 1 && value !== '' ? value : null
  }

  /** @throws {Forbidden} the request was sent by a page of another site, or not by a page */
  #checkOrigin(headers: Headers, requestUrl?: string): void {
    const { origin = 'none' } = headers
    const url = parseUrl(origin)
    // Browsers reject cookies with `Secure` of a page without TLS, except on localhost.
    if (url?.protocol === 'http:' && !isLocalHost(url.hostname)) {
      throw new OriginNotAllowed(
        `Cookies of sessions need HTTPS or localhost: the page is of '${origin}'`,
      )
    }
    if (this.#isAllowed(headers, requestUrl)) return
    throw new OriginNotAllowed(
      `Cookies of sessions serve pages of this origin and of 'sessions.origins', not of '${origin}'`,
    )
  }

  #isAllowed({ origin, 'sec-fetch-site': site }: Headers, requestUrl?: string): boolean {
    if (site === 'same-origin') return true
    if (typeof origin !== 'string') return false
    const isOwn = requestUrl !== undefined && new URL(requestUrl).origin === origin
    return isOwn || this.#sessions.options.origins.includes(origin)
  }

  /** Returns a cookie, and the removal of the one with the other name: two cookies count as none. */
  #create(kind: TokenKind, value: unknown, maxAge: number, params: AuthenticationParams): Cookie[] {
    const isSecure = !this.#isLocal(params)
    const path = this.#getPath(kind)
    const name = this.#getName(kind, isSecure)
    const other = this.#getName(kind, !isSecure)
    const cookie = { name, value: String(value), maxAge, path, isSecure, sameSite: 'Lax' } as const
    if (findCookies(params.headers?.['cookie'], [other]).length === 0) return [cookie]
    return [cookie, { ...cookie, name: other, value: '', maxAge: 0, isSecure: !isSecure }]
  }

  #set({ http }: HookContext, cookies: readonly Cookie[]): void {
    const headers = cookies.map((cookie) => {
      const header = toSetCookie(cookie)
      if (header !== null) return header
      throw new TypeError(`A token is too long for the cookie '${cookie.name}'`)
    })
    const { 'set-cookie': others = [] } = http.headers ?? {}
    http.headers = { ...http.headers, 'set-cookie': [others, headers].flat() as string[] }
  }

  #getName(kind: TokenKind, isSecure: boolean): string {
    return toCookieName(this.#authentication.configKey, kind, this.#getPath(kind), isSecure)
  }

  #getPath(kind: TokenKind): string {
    return kind === 'refresh' ? this.#sessions.options.cookiePath : '/'
  }

  /** Returns whether a developer calls this server without TLS: some browsers then reject cookies with `Secure`. */
  #isLocal({ requestUrl = '', headers = {} }: AuthenticationParams): boolean {
    const isLocal = requestUrl.startsWith('http:') && isNear(headers)
    if (isLocal && !this.#hasWarned) {
      this.#hasWarned = true
      this.#authentication.app.logger.warn(
        { host: headers['host'] },
        'Session cookies at this host lack Secure, because NODE_ENV is development',
      )
    }
    return isLocal
  }
}

/** Returns whether a request comes from a developer's browser, and not from a page with TLS. */
function isNear(headers: Headers): boolean {
  // `Origin` may be the only sign of a local proxy with TLS.
  return !String(headers['origin']).startsWith('https:') && isFromDeveloper(headers)
}

/** Removes the tokens that are in cookies from the response body. */
function hideTokens(context: HookContext, cookie: boolean | 'all'): void {
  const hide = (result: object): object => {
    const { refreshToken: _refreshToken, accessToken, ...others } = result as AuthenticationResult
    if (cookie !== 'all') return { accessToken, ...others }
    const { accessToken: _accessToken, ...authentication } = Object(others['authentication'])
    return { ...others, authentication }
  }
  if (isObject(context.dispatch)) context.dispatch = hide(context.dispatch)
  if (isObject(context.result)) context.result = hide(context.result)
}

/** @throws {TypeError} the response body still contains a token, since a hook has changed its structure */
function checkBody({ dispatch, result }: HookContext, cookie: boolean | 'all'): void {
  const token = cookie === 'all' ? /"(?:access|refresh)Token":"/ : /"refreshToken":"/
  if (!token.test(JSON.stringify(dispatch ?? result) ?? '')) return
  throw new HookError(
    'A hook has moved a token that belongs into a cookie: leave accessToken and refreshToken where they are',
  )
}
