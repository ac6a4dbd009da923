import type { Id, Params, Query } from '../../../core/index.ts'
import { BadRequest } from '../../../core/index.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { OAuthParams, OAuthStrategy } from '../oauth-strategy.ts'
import { askProvider } from '../provider/ask-provider.ts'
import type { OAuthProvider } from '../provider/provider.ts'
import { getAccess } from '../provider-access.ts'
import type { Flow } from '../sealed/flow-cookie.ts'
import { storeFlow } from '../sealed/flow-cookie.ts'
import { toAbsoluteUrl } from '../settings/absolute-url.ts'
import { OAuthAnswer, OAuthFailure } from './oauth-answer.ts'
import type { OAuthSite } from './oauth-site.ts'

/** What the start of a flow reads from its query. */
interface StartQuery extends Query {
  /** The access token of the account that the login is to be linked to. */
  feathers_token?: unknown
  /** What is appended to the address of the page after the login. */
  redirect?: unknown
}

/** Sends people to a provider: `GET /oauth/github`, `GET /oauth/github/:override`, `POST`. */
export class OAuthStartService {
  readonly #site: OAuthSite

  constructor(site: OAuthSite) {
    this.#site = site
  }

  /** @throws {TypeError} a provider of the settings has no strategy */
  async setup(): Promise<void> {
    this.#site.verify()
  }

  /** Starts a flow. Query parameters that have no meaning here reach the login as its query. */
  find(params: Params): Promise<OAuthAnswer> {
    return this.#start(params, {}, null)
  }

  /** Starts a flow with a set of other settings. */
  get(override: Id, params: Params): Promise<OAuthAnswer> {
    return this.#start(params, {}, String(override))
  }

  /** Starts a flow with parameters for the provider, of those that the settings allow. */
  create(data: Record<string, unknown>, params: Params): Promise<OAuthAnswer> {
    return this.#start(params, data, null)
  }

  async #start(params: Params, data: FormData, override: string | null): Promise<OAuthAnswer> {
    const strategy = this.#site.getStrategy(params)
    const provider = getAccess(strategy).getProvider(override)
    const request = await this.#read(strategy, provider, params, data).catch((error: unknown) => {
      // Nothing is known yet of the page that could be told.
      throw new OAuthFailure(error)
    })
    const { accessToken, target: redirect } = request
    const page: OAuthParams = { ...params, redirect: redirect ?? '' }
    try {
      if (accessToken !== null) await this.#site.verifyLinkToken(accessToken, params)
      return await this.#begin(strategy, provider, request, params, override)
    } catch (error) {
      const location = await this.#site.getErrorPage(strategy, error, page)
      throw new OAuthFailure(error, { location })
    }
  }

  /**
   * Returns what a request asks for. It is refused now, and not at the end of the flow, where it
   * leads nowhere: nobody should log in for nothing.
   */
  async #read(
    strategy: OAuthStrategy,
    provider: OAuthProvider,
    params: Params,
    data: FormData,
  ): Promise<StartRequest> {
    const { feathers_token, redirect, ...query } = { ...params.query } as StartQuery
    const target = toOptionalString('redirect', redirect)
    const hasPage = await this.#site.hasPage(strategy, { ...params, redirect: target ?? '' })
    if (!hasPage && target !== null) {
      throw new BadRequest("The parameter 'redirect' needs the setting 'redirect' or 'origins'")
    }
    // A form can send the token in its body, where no history and no log has it.
    const { feathers_token: posted = feathers_token, ...given } = data
    const accessToken = await this.#site.readLinkToken(posted, strategy, params)
    const parameters = readParameters(provider.settings.dynamic, given, query)
    return { target, accessToken, parameters, query }
  }

  async #begin(
    strategy: OAuthStrategy,
    provider: OAuthProvider,
    { target, accessToken, parameters, query }: StartRequest,
    params: Params,
    override: string | null,
  ): Promise<OAuthAnswer> {
    const { settings } = provider
    const redirectUri = this.#site.getCallbackUrl(params, settings, override)
    const secrets = await provider.createSecrets()
    const url = await askProvider(provider, params.signal, (session) =>
      session.getAuthorizationUrl(secrets, redirectUri, parameters),
    )
    // Of the page that a login began on only the origin is kept: its address may hold anything.
    const referer = toAbsoluteUrl(params.headers?.['referer'])?.origin ?? null
    const page = { redirect: target, referer, query }
    const flow: Flow = {
      provider: strategy.name,
      ...secrets,
      redirectUri,
      override,
      accessToken,
      ...page,
    }
    const { response_mode: responseMode } = { ...settings.customParams, ...parameters }
    const cookie = await storeFlow(flow, getAccess(strategy).secrets, responseMode === 'form_post')
    if (cookie === null) {
      throw new BadRequest(
        'The query and the token to link are too long: a cookie holds 3800 bytes',
      )
    }
    return new OAuthAnswer(url, {}, cookie)
  }
}

/** What a request for a login asks for. */
interface StartRequest {
  /** What is appended to the address of the page after the login. */
  readonly target: string | null
  readonly accessToken: string | null
  /** For the page of the provider. */
  readonly parameters: Readonly<Record<string, string>>
  /** For the login. */
  readonly query: Readonly<Record<string, unknown>>
}

type FormData = Readonly<Record<string, unknown>>

/** Those of the body are refused unless they are allowed; a query may have others. */
function readParameters(
  allowed: readonly string[],
  data: FormData,
  query: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const unknown = Object.keys(data).find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    throw new BadRequest(`The parameter '${unknown}' can not be set for this provider`)
  }
  const entries = Object.entries({ ...query, ...data }).filter(([name]) => allowed.includes(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, toOptionalString(name, value) ?? '']),
  )
}

function toOptionalString(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return value
  throw createNotAuthenticated(`The parameter '${name}' must be given once, as a string`)
}
