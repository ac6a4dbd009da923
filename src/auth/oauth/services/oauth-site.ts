import type { HookContext, Params } from '../../../core/index.ts'
import {
  BadRequest,
  GeneralError,
  MethodNotAllowed,
  NotFound,
  ServiceError,
  stripSlashes,
  toServiceError,
} from '../../../core/index.ts'
import { createNotAuthenticated, describeRefusal } from '../../auth-errors.ts'
import type { Authentication } from '../../authentication.ts'
import type { AuthenticationParams } from '../../authentication-params.ts'
import type { OAuthParams } from '../oauth-strategy.ts'
import { OAuthStrategy } from '../oauth-strategy.ts'
import { checkOrigins, joinPageAddress } from '../page-address.ts'
import { findOAuthSettings, getProviderNames } from '../settings/oauth-settings.ts'
import { parseUrl } from '../settings/provider-section.ts'
import type { ProviderSettings } from '../settings/provider-settings.ts'

/** What the services of a flow share: the authentication service, and where they stand. */
export class OAuthSite {
  readonly authentication: Authentication
  /** The strategy that verifies the token of the account to link. */
  readonly linkStrategy: string

  constructor(authentication: Authentication, linkStrategy: string) {
    this.authentication = authentication
    this.linkStrategy = linkStrategy
  }

  /** @throws {TypeError} a provider has a section, but no strategy; origins that are none */
  verify(): void {
    const { app, configKey, configuration } = this.authentication
    const settings = findOAuthSettings(configuration) ?? {}
    if (settings.origins === undefined) checkOrigins('origins', app.get('origins'))
    for (const name of getProviderNames(settings)) {
      if (this.authentication.getStrategy(name) instanceof OAuthStrategy) continue
      throw new TypeError(
        `'${configKey}.oauth.${name}' has no strategy: authentication.register('${name}', new OAuthStrategy())`,
      )
    }
  }

  /** @throws {NotFound} the path of a call names no provider */
  getStrategy({ route }: Params): OAuthStrategy {
    const name = route?.['provider'] ?? ''
    const strategy = this.authentication.getStrategy(name)
    if (strategy instanceof OAuthStrategy) return strategy
    throw new NotFound('There is no such provider')
  }

  /**
   * Returns whether a page follows a login.
   * @throws {NotAuthenticated} the caller wants it to be elsewhere, or comes from elsewhere
   */
  async hasPage(strategy: OAuthStrategy, params: OAuthParams): Promise<boolean> {
    const base = await strategy.getAllowedOrigin(params)
    if (!base) return false
    joinPageAddress(base, params.redirect ?? '')
    return true
  }

  /**
   * Returns the page that is told of an error, `null` where there is none, or none that is allowed.
   */
  async getErrorPage(
    strategy: OAuthStrategy,
    error: unknown,
    params: OAuthParams,
  ): Promise<string | null> {
    try {
      return await strategy.getRedirect(createPageError(error), params)
    } catch (refusal) {
      if (refusal instanceof ServiceError) return null
      throw refusal
    }
  }

  /**
   * Returns the URL of the callback: that of the settings, or beside the one that the caller reached.
   * @param override what the path of the call ends in, `null` for nothing
   * @throws {BadRequest} the address of the server is not known
   */
  getCallbackUrl(
    { requestUrl }: Params,
    { redirectUri }: ProviderSettings,
    override: string | null,
  ): string {
    if (redirectUri !== null) return redirectUri
    const reached = parseUrl(requestUrl)
    if (reached === null) {
      throw new BadRequest(
        "The address of this server is not known: the request names no valid host, and there is no 'redirect_uri'",
      )
    }
    const parts = stripSlashes(reached.pathname).split('/')
    if (override !== null) parts.pop()
    const { origin = reached.origin } = this.#defaults
    return [stripSlashes(origin), ...parts, 'callback'].join('/')
  }

  /**
   * Returns the access token of the account that a login is to be linked to, `null` for none. It is
   * not verified yet.
   * @param token that of the query or a form; else the caller may be logged in by a header
   * @param callbackUrl where the provider sends browsers
   * @throws {NotAuthenticated} no access token, or one from a foreign page
   */
  async readLinkToken(
    token: unknown,
    strategy: OAuthStrategy,
    params: Params,
    callbackUrl: string,
  ): Promise<string | null> {
    const { authentication } = params
    // A form may have the field and nothing in it.
    const isAbsent = token === undefined || token === ''
    if (isAbsent && authentication === undefined) return null
    const accessToken = isAbsent ? authentication?.['accessToken'] : token
    if (typeof accessToken !== 'string') {
      throw createNotAuthenticated('A login can be linked to the account of an access token only')
    }
    await checkLinkOrigin(strategy, params, [params.requestUrl, callbackUrl])
    return accessToken
  }

  /** @throws {NotAuthenticated} the access token of a link is not valid, or not any more */
  async verifyLinkToken(accessToken: string, { address }: Params): Promise<void> {
    const request = { strategy: this.linkStrategy, accessToken }
    const internal: AuthenticationParams = { address }
    await this.authentication.authenticate(request, internal, this.linkStrategy)
  }

  get #defaults(): { readonly origin?: string } {
    return findOAuthSettings(this.authentication.configuration)?.defaults ?? {}
  }
}

/**
 * Checks that a link was begun on a page of the application: a page or a mail of somebody else could
 * link its readers to an account of its own. Browsers say where a request comes from, by one to
 * three headers. What has none of them is a program, unless it asks for HTML: then it is a browser
 * that was told to hide the page.
 * @param serverUrls the address that the caller has reached, and the one that browsers know
 */
async function checkLinkOrigin(
  strategy: OAuthStrategy,
  params: Params,
  serverUrls: readonly unknown[],
): Promise<void> {
  const { accept, origin, referer, 'sec-fetch-site': site } = params.headers ?? {}
  const isSameOrigin = site === 'same-origin'
  // `Referrer-Policy: no-referrer` makes the origin `null`, on the way to the own server as well.
  const isHidden = origin === undefined || (isSameOrigin && origin === 'null')
  const hasReferer = referer !== undefined && !isSameOrigin
  const [page, another] = new Set([
    ...(isHidden ? [] : [String(origin)]),
    ...(hasReferer ? [getOrigin(referer) ?? ''] : []),
  ])
  const isProgram = site === undefined && !/html/i.test(String(accept))
  if (page === undefined && (isSameOrigin || isProgram)) return
  if (page !== undefined && another === undefined) {
    if (serverUrls.some((url) => getOrigin(url) === page)) return
    const headers = { referer: page, ...params.headers }
    if (getOrigin(await strategy.getAllowedOrigin({ ...params, headers })) === page) return
  }
  throw createNotAuthenticated('A login can be linked only from a page of this application')
}

/** Returns the origin of an address, `null` where it has none that another could be equal to. */
function getOrigin(url: unknown): string | null {
  const { origin = 'null' } = parseUrl(url) ?? {}
  return origin === 'null' ? null : origin
}

/** What the services of a flow answer: where the browser goes on, and what it keeps meanwhile. */
export class OAuthAnswer {
  /** Where the browser goes on, `null` where it stays and gets the result. */
  readonly location: string | null
  readonly result: object
  /** The header that keeps the flow in the browser, or removes it. */
  readonly cookie: string

  constructor(location: string | null, result: object, cookie: string) {
    this.location = location
    this.result = result
    this.cookie = cookie
  }
}

/** What becomes of a login that has failed. */
interface FailureDetails {
  /** The page that is told of it; default `null`: there is none, and the error is the answer. */
  readonly location?: string | null
  /** The header that has the browser forget the flow, sent where there is a page. */
  readonly cookie?: string | null
  /** Whether somebody else has logged it; default `false`. */
  readonly isLogged?: boolean
}

/** A login that has failed. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure'
  readonly error: ServiceError
  readonly details: FailureDetails

  constructor(error: unknown, details: FailureDetails = {}) {
    super('A login by OAuth has failed')
    this.error = toServiceError(error)
    this.details = details
  }
}

/** Returns what the page after a login is told of an error: nothing of what has failed inside. */
function createPageError(error: unknown): ServiceError {
  const known = toServiceError(error)
  return known.code < 500 ? known : new GeneralError('The login has failed: try again later')
}

/**
 * An around hook that turns what a service of a flow returns into an answer over HTTP: a redirect
 * with a cookie, that no cache keeps.
 */
export async function sendAnswer(context: HookContext, next: () => Promise<void>): Promise<void> {
  // Sent by those who look at a link before they open it: it begins and ends no flow.
  if (context.params.requestMethod === 'HEAD') {
    throw new MethodNotAllowed('A login takes GET or POST')
  }
  try {
    await next()
    const { location, result, cookie } = context.result as OAuthAnswer
    setHttp(context, location, cookie)
    context.result = { ...result, location }
  } catch (failure) {
    if (!(failure instanceof OAuthFailure)) throw failure
    const { error, details } = failure
    const { location = null, cookie = null } = details
    logFailure(context, failure)
    // Without a page the browser keeps its flow: a forged callback must not end it.
    setHttp(context, location, location === null ? null : cookie)
    if (location === null) throw error
    context.result = createPageError(error).toJSON()
  }
}

function setHttp(context: HookContext, location: string | null, cookie: string | null): void {
  const { http } = context
  http.headers = {
    ...http.headers,
    ...(cookie === null ? {} : { 'set-cookie': cookie }),
    'cache-control': 'no-store',
    // The address of a callback has the code of the provider.
    'referrer-policy': 'no-referrer',
  }
  if (location !== null) http.location = location
}

function logFailure({ app, params, path }: HookContext, { error, details }: OAuthFailure): void {
  const { address, route } = params
  const line = { event: 'oauth', strategy: route?.['provider'], address, path }
  if (error.code >= 500) {
    // Without a page, it is logged as any error that a service throws.
    if (details.location) app.logger.error({ ...line, err: error.cause ?? error }, 'Login failed')
  } else if (!details.isLogged) {
    app.logger.warn({ ...line, ...describeRefusal(error) }, 'Login refused')
  }
}
