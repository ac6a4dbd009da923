import { InvalidOAuthRequest, OAuthRejected } from '../../../core/errors/coded-errors.ts'
import { SettingError } from '../../../core/errors/setup-errors.ts'
import type { Id, Params, Query } from '../../../core/index.ts'
import { stripSlashes } from '../../../core/index.ts'
import type { AuthenticationParams } from '../../authentication-params.ts'
import { parseUrl } from '../../settings-values.ts'
import type { Flow } from '../flow-cookie.ts'
import { storeFlow } from '../flow-cookie.ts'
import { OAuthStrategy } from '../oauth-strategy.ts'
import type { FlowSecrets } from '../provider/provider.ts'
import { askProvider } from '../provider/provider-session.ts'
import { checkAppOrigins, findOAuthSettings, getProviderNames } from '../settings/oauth-settings.ts'
import type { FlowAnswer } from './flow-service.ts'
import { FlowFailure, FlowService } from './flow-service.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a request to log in asks for: the parts of a flow that are not secret. */
interface StartRequest extends Omit<Flow, keyof FlowSecrets | 'provider'> {
  /** Parameters for the page of the provider. */
  readonly parameters: Readonly<Record<string, string>>
}

/** Starts flows by sending the browser to a provider: `GET /oauth/github`, `GET /oauth/github/:override`, `POST`. */
export class OAuthStartService extends FlowService {
  /** @throws {TypeError} a provider has settings but no strategy, or an allowed origin is invalid */
  async setup(): Promise<void> {
    const { app, configKey, configuration } = this.authentication
    const settings = findOAuthSettings(configuration) ?? {}
    if (settings.origins === undefined) checkAppOrigins(app.get('origins'))
    for (const name of getProviderNames(settings)) {
      if (this.authentication.getStrategy(name) instanceof OAuthStrategy) continue
      throw new SettingError(
        `'${configKey}.oauth.${name}' has no strategy: authentication.register('${name}', new OAuthStrategy())`,
      )
    }
  }

  /** Starts a flow. Unknown query parameters become `params.query` of the login. */
  find(params: Params): Promise<FlowAnswer> {
    return this.#start(params, {}, null)
  }

  /** Starts a flow with an override of the settings. */
  get(override: Id, params: Params): Promise<FlowAnswer> {
    return this.#start(params, {}, String(override))
  }

  /** Starts a flow with parameters for the provider, if the settings allow them. */
  create(data: Record<string, unknown>, params: Params): Promise<FlowAnswer> {
    return this.#start(params, data, null)
  }

  async #start(params: Params, data: Fields, override: string | null): Promise<FlowAnswer> {
    const strategy = this.getStrategy(params)
    const request = await this.#read(strategy, params, data, override).catch((error: unknown) => {
      // The page that would receive the error is not known yet.
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
   * Returns what a request asks for. Invalid requests are rejected here rather than in the callback, so that no one
   * logs in at the provider in vain.
   */
  async #read(
    strategy: OAuthStrategy,
    params: Params,
    data: Fields,
    override: string | null,
  ): Promise<StartRequest> {
    // `feathers_token` is the access token of the account to link, `redirect` is appended to the address of the page.
    const { feathers_token, redirect: given, ...query }: Query = { ...params.query }
    const redirect = readOptionalString('redirect', given)
    const hasPage = await this.hasPage(strategy, { ...params, redirect: redirect ?? '' })
    if (!hasPage && redirect !== null) {
      throw new InvalidOAuthRequest(
        "The parameter 'redirect' needs the setting 'redirect' or 'origins'",
      )
    }
    // A form can send the token in its body, which no history or log records.
    const { feathers_token: posted = feathers_token, ...others } = data
    const { settings } = strategy.providerAccess.getProvider(override)
    const redirectUri = settings.redirect_uri ?? this.#getCallbackUrl(params, override)
    return {
      ...{ override, redirect, redirectUri, query },
      // Keeps only the origin of the page that the login started on: its address may contain anything.
      referer: parseUrl(params.headers?.['referer'])?.origin ?? null,
      accessToken: await readLinkToken(posted, strategy, params, redirectUri),
      parameters: readParameters(settings.dynamic, others, query),
    }
  }

  /**
   * Returns the URL of the callback next to the URL that the caller requested.
   * @param override the last segment of the path of the call, `null` for none
   * @throws {BadRequest} the address of the server is not known
   */
  #getCallbackUrl({ requestUrl }: Params, override: string | null): string {
    const reached = parseUrl(requestUrl)
    if (reached === null) {
      throw new InvalidOAuthRequest(
        "The address of this server is not known: the request names no valid host, and there is no 'redirect_uri'",
      )
    }
    const parts = stripSlashes(reached.pathname).split('/')
    if (override !== null) parts.pop()
    const { origin = reached.origin } =
      findOAuthSettings(this.authentication.configuration)?.defaults ?? {}
    return [stripSlashes(origin), ...parts, 'callback'].join('/')
  }

  /** @throws {NotAuthenticated} the access token for a link is invalid or no longer valid */
  async #verifyLinkToken(accessToken: string, { address }: Params): Promise<void> {
    const request = { strategy: this.linkStrategy, accessToken }
    const internal: AuthenticationParams = { address }
    await this.authentication.authenticate(request, internal, this.linkStrategy)
  }
}

/** Returns the response that sends the browser to the provider, with the flow in a cookie. */
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
  const { response_mode: mode } = { ...provider.settings.custom_params, ...parameters }
  const cookie = storeFlow(flow, access.secrets, mode === 'form_post')
  if (cookie !== null) return { location, result: {}, cookie }
  throw new InvalidOAuthRequest(
    'The query and the token to link are too long: a cookie holds 3800 bytes',
  )
}

/** Rejects parameters in the body that are not allowed; a query may contain others. */
function readParameters(
  allowed: readonly string[],
  data: Fields,
  query: Fields,
): Record<string, string> {
  const unknown = Object.keys(data).find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    throw new InvalidOAuthRequest(`The parameter '${unknown}' cannot be set for this provider`)
  }
  const entries = Object.entries({ ...query, ...data }).filter(([name]) => allowed.includes(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, readOptionalString(name, value) ?? '']),
  )
}

function readOptionalString(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return value
  throw new OAuthRejected(`The parameter '${name}' must be given once, as a string`)
}

/**
 * Returns the access token of the account to link a login to, `null` for none. The token is not verified yet.
 * @param token from the query or a form; without it, the login of the request counts
 * @param callbackUrl where the provider sends browsers back to
 * @throws {NotAuthenticated} the value is not an access token, or a foreign page sent it
 */
async function readLinkToken(
  token: unknown,
  strategy: OAuthStrategy,
  params: Params,
  callbackUrl: string,
): Promise<string | null> {
  const { authentication } = params
  // A form may send the field empty.
  const isAbsent = token === undefined || token === ''
  if (isAbsent && authentication === undefined) return null
  const accessToken = isAbsent ? authentication?.['accessToken'] : token
  if (typeof accessToken !== 'string') {
    throw new OAuthRejected('A login can be linked to the account of an access token only')
  }
  await checkLinkOrigin(strategy, params, [params.requestUrl, callbackUrl])
  return accessToken
}

/**
 * Checks that a link was started on a page of the application: another site's page or email could link its readers to
 * an account of the attacker. Browsers name the source of a request in one to three headers. A request with none of
 * them comes from a program, unless it asks for HTML: then it is a browser that was told to hide the page.
 * @param serverUrls the address that the caller requested, and the one that browsers know
 */
async function checkLinkOrigin(
  strategy: OAuthStrategy,
  params: Params,
  serverUrls: readonly unknown[],
): Promise<void> {
  const { accept, origin, referer, 'sec-fetch-site': site } = params.headers ?? {}
  const isSameOrigin = site === 'same-origin'
  // `Referrer-Policy: no-referrer` makes the origin `null`, even for requests to the same server.
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
  throw new OAuthRejected('A login can be linked only from a page of this application')
}

/** Returns the origin of an address; `null` if it has none that could equal another. */
function getOrigin(url: unknown): string | null {
  const { origin = 'null' } = parseUrl(url) ?? {}
  return origin === 'null' ? null : origin
}
