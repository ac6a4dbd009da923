import type { Id, Params, Query } from '../../../core/index.ts'
import { BadRequest, toServiceError } from '../../../core/index.ts'
import { isNonEmptyString } from '../../../core/value-kind.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import { askProvider } from '../provider/ask-provider.ts'
import { getAccess } from '../provider-access.ts'
import type { Flow } from '../sealed/flow-cookie.ts'
import { FlowCookie } from '../sealed/flow-cookie.ts'
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

  async #start(
    params: Params,
    data: Readonly<Record<string, unknown>>,
    override: string | null,
  ): Promise<OAuthAnswer> {
    const strategy = this.#site.getStrategy(params)
    const access = getAccess(strategy)
    const provider = access.getProvider(override)
    const { feathers_token, redirect, ...query } = { ...params.query } as StartQuery
    const target = toText('redirect', redirect)
    const referer = params.headers?.['referer']
    // Now, and not at the end of the flow: nobody should log in for nothing.
    const message = 'The login could not begin'
    const page = await strategy.getRedirect({ message }, { ...params, redirect: target ?? '' })
    if (page === null && target !== null) {
      throw new BadRequest("The parameter 'redirect' needs the setting 'redirect' or 'origins'")
    }
    // A form can send the token in its body, where no history and no log has it.
    const { feathers_token: posted = feathers_token, ...given } = data
    const accessToken = await this.#site.readLinkToken(posted, strategy, params)
    const parameters = this.#readParameters(provider.settings.dynamic, given, query)
    const redirectUri = this.#site.getCallbackUrl(params, provider.settings, override)
    const { response_mode: responseMode } = { ...provider.settings.customParams, ...parameters }
    const cookie = new FlowCookie(strategy.name, redirectUri, responseMode === 'form_post')
    try {
      if (accessToken !== null) await this.#site.verifyLinkToken(accessToken, params)
      const secrets = await provider.createSecrets()
      const url = await askProvider(provider, params.signal, () =>
        provider.getAuthorizationUrl(secrets, redirectUri, parameters),
      )
      const origin = { referer: toOrigin(referer), redirect: target, redirectUri, override }
      const flow: Flow = { provider: strategy.name, ...secrets, ...origin, accessToken, query }
      const stored = await cookie.store(flow, access.secrets)
      if (stored === null) throw new BadRequest('The query is too long for a login')
      return new OAuthAnswer(url, {}, stored)
    } catch (cause) {
      const error = toServiceError(cause)
      const location = await strategy.getRedirect(error, { ...params, redirect: target ?? '' })
      throw new OAuthFailure(error, location, cookie.removal)
    }
  }

  /** Those of the body are refused unless they are allowed; a query may have others. */
  #readParameters(
    allowed: readonly string[],
    data: Readonly<Record<string, unknown>>,
    query: Readonly<Record<string, unknown>>,
  ): Record<string, string> {
    const unknown = Object.keys(data).find((name) => !allowed.includes(name))
    if (unknown !== undefined) {
      throw new BadRequest(`The parameter '${unknown}' can not be set for this provider`)
    }
    const entries = Object.entries({ ...query, ...data }).filter(([name]) => allowed.includes(name))
    return Object.fromEntries(entries.map(([name, value]) => [name, toText(name, value) ?? '']))
  }
}

function toText(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return value
  throw createNotAuthenticated(`The parameter '${name}' must be given once, as text`)
}

/** Of the page that a login began on only the origin is kept: its address may hold anything. */
function toOrigin(referer: unknown): string | null {
  return isNonEmptyString(referer) && URL.canParse(referer) ? new URL(referer).origin : null
}
