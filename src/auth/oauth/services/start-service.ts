import type { Id, Params, Query } from '../../../core/index.ts'
import { BadRequest, NotAuthenticated, stripSlashes } from '../../../core/index.ts'
import type { AuthenticationParams } from '../../authentication-params.ts'
import { parseUrl } from '../../settings-values.ts'
import type { Flow } from '../flow-cookie.ts'
import { storeFlow } from '../flow-cookie.ts'
import { OAuthStrategy } from '../oauth-strategy.ts'
import { checkOrigins } from '../page-address.ts'
import type { FlowSecrets } from '../provider/provider.ts'
import { askProvider } from '../provider/provider-session.ts'
import { findOAuthSettings, getProviderNames } from '../settings/oauth-settings.ts'
import type { FlowAnswer } from './flow-service.ts'
import { FlowFailure, FlowService } from './flow-service.ts'

type Fields = Readonly<Record<string, unknown>>

/** What the start of a flow reads from its query. */
interface StartQuery extends Query {
  /** The access token of the account that the login is to be linked to. */
  feathers_token?: unknown
  /** What is appended to the address of the page after the login. */
  redirect?: unknown
}

/** What a request for a login asks for: the part of a flow that is no secret. */
interface StartRequest extends Omit<Flow, keyof FlowSecrets | 'provider'> {
  /** For the page of the provider. */
  readonly parameters: Readonly<Record<string, string>>
}

/** Sends people to a provider: `GET /oauth/github`, `GET /oauth/github/:override`, `POST`. */
export class OAuthStartService extends FlowService {
  /** @throws {TypeError} a provider has a section, but no strategy; origins that are none */
  async setup(): Promise<void> {
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

  /** Starts a flow. Query parameters that have no meaning here reach the login as its query. */
  find(params: Params): Promise<FlowAnswer> {
    return this.#start(params, {}, null)
  }

  /** Starts a flow with a set of other settings. */
  get(override: Id, params: Params): Promise<FlowAnswer> {
    return this.#start(params, {}, String(override))
  }

  /** Starts a flow with parameters for the provider, of those that the settings allow. */
  create(data: Record<string, unknown>, params: Params): Promise<FlowAnswer> {
    return this.#start(params, data, null)
  }

  async #start(params: Params, data: Fields, override: string | null): Promise<FlowAnswer> {
    const strategy = this.getStrategy(params)
    const request = await this.#read(strategy, params, data, override).catch((error: unknown) => {
      // Nothing is known yet of the page that could be told.
      throw new FlowFailure(error)
    })
    try {
      if (request.accessToken !== null) await this.#verifyLinkToken(request.accessToken, params)
      return await begin(strategy, request, params.signal)
    } catch (error) {
      const page = { ...params, redirect: request.redirect ?? '' }
      const location = await this.getErrorPage(strategy, error, page)
      throw new FlowFailure(error, { location })
    }
  }

  /**
   * Returns what a request asks for. It is refused now, and not at the end of the flow, where it
   * leads nowhere: nobody should log in for nothing.
   */
  async #read(
    strategy: OAuthStrategy,
    params: Params,
    data: Fields,
    override: string | null,
  ): Promise<StartRequest> {
    const { feathers_token, redirect: given, ...query } = { ...params.query } as StartQuery
    const redirect = readOptionalString('redirect', given)
    const hasPage = await this.hasPage(strategy, { ...params, redirect: redirect ?? '' })
    if (!hasPage && redirect !== null) {
      throw new BadRequest("The parameter 'redirect' needs the setting 'redirect' or 'origins'")
    }
    // A form can send the token in its body, where no history and no log has it.
    const { feathers_token: posted = feathers_token, ...others } = data
    const { settings } = strategy.providerAccess.getProvider(override)
    const redirectUri = settings.redirectUri ?? this.#getCallbackUrl(params, override)
    return {
      ...{ override, redirect, redirectUri, query },
      // Of the page that a login began on only the origin is kept: its address may hold anything.
      referer: parseUrl(params.headers?.['referer'])?.origin ?? null,
      accessToken: await readLinkToken(posted, strategy, params, redirectUri),
      parameters: readParameters(settings.dynamic, others, query),
    }
  }

  /**
   * Returns the URL of the callback beside the one that the caller reached.
   * @param override what the path of the call ends in, `null` for nothing
   * @throws {BadRequest} the address of the server is not known
   */
  #getCallbackUrl({ requestUrl }: Params, override: string | null): string {
    const reached = parseUrl(requestUrl)
    if (reached === null) {
      throw new BadRequest(
        "The address of this server is not known: the request names no valid host, and there is no 'redirect_uri'",
      )
    }
    const parts = stripSlashes(reached.pathname).split('/')
    if (override !== null) parts.pop()
    const { origin = reached.origin } =
      findOAuthSettings(this.authentication.configuration)?.defaults ?? {}
    return [stripSlashes(origin), ...parts, 'callback'].join('/')
  }

  /** @throws {NotAuthenticated} the access token of a link is not valid, or not any more */
  async #verifyLinkToken(accessToken: string, { address }: Params): Promise<void> {
    const request = { strategy: this.linkStrategy, accessToken }
    const internal: AuthenticationParams = { address }
    await this.authentication.authenticate(request, internal, this.linkStrategy)
  }
}

/** Returns the answer that sends somebody to the provider, with the flow in a cookie. */
async function begin(
  strategy: OAuthStrategy,
  { parameters, ...request }: StartRequest,
  signal: AbortSignal | undefined,
): Promise<FlowAnswer> {
  const access = strategy.providerAccess
  const provider = access.getProvider(request.override)
  const secrets = await provider.createSecrets()
  const location = await askProvider(provider, signal, (session) =>
    session.getAuthorizationUrl(secrets, request.redirectUri, parameters),
  )
  const flow: Flow = { provider: strategy.name, ...secrets, ...request }
  const { response_mode: mode } = { ...provider.settings.customParams, ...parameters }
  const cookie = storeFlow(flow, access.secrets, mode === 'form_post')
  if (cookie !== null) return { location, result: {}, cookie }
  throw new BadRequest('The query and the token to link are too long: a cookie holds 3800 bytes')
}

/** Those of the body are refused unless they are allowed; a query may have others. */
function readParameters(
  allowed: readonly string[],
  data: Fields,
  query: Fields,
): Record<string, string> {
  const unknown = Object.keys(data).find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    throw new BadRequest(`The parameter '${unknown}' can not be set for this provider`)
  }
  const entries = Object.entries({ ...query, ...data }).filter(([name]) => allowed.includes(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, readOptionalString(name, value) ?? '']),
  )
}

function readOptionalString(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return value
  throw new NotAuthenticated(`The parameter '${name}' must be given once, as a string`)
}

/**
 * Returns the access token of the account that a login is to be linked to, `null` for none. It is
 * not verified yet.
 * @param token that of the query or a form; else the caller may be logged in by a header
 * @param callbackUrl where the provider sends browsers
 * @throws {NotAuthenticated} no access token, or one from a foreign page
 */
async function readLinkToken(
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
    throw new NotAuthenticated('A login can be linked to the account of an access token only')
  }
  await checkLinkOrigin(strategy, params, [params.requestUrl, callbackUrl])
  return accessToken
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
  throw new NotAuthenticated('A login can be linked only from a page of this application')
}

/** Returns the origin of an address, `null` where it has none that another could be equal to. */
function getOrigin(url: unknown): string | null {
  const { origin = 'null' } = parseUrl(url) ?? {}
  return origin === 'null' ? null : origin
}
