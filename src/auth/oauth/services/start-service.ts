import type { Id, Params, Query } from '../../../core/index.ts'
import { BadRequest } from '../../../core/index.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { OAuthStrategy } from '../oauth-strategy.ts'
import { PageService } from '../page-services.ts'
import type { FlowSecrets } from '../provider/provider.ts'
import { askProvider } from '../provider/provider-session.ts'
import type { Flow } from '../sealed/flow-cookie.ts'
import { storeFlow } from '../sealed/flow-cookie.ts'
import { parseUrl } from '../settings/provider-section.ts'
import type { OAuthSite } from './oauth-site.ts'
import { OAuthAnswer, OAuthFailure } from './oauth-site.ts'

/** What the start of a flow reads from its query. */
interface StartQuery extends Query {
  /** The access token of the account that the login is to be linked to. */
  feathers_token?: unknown
  /** What is appended to the address of the page after the login. */
  redirect?: unknown
}

/** Sends people to a provider: `GET /oauth/github`, `GET /oauth/github/:override`, `POST`. */
export class OAuthStartService extends PageService {
  readonly #site: OAuthSite

  constructor(site: OAuthSite) {
    super()
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
    const request = await this.#read(strategy, params, data, override).catch((error: unknown) => {
      // Nothing is known yet of the page that could be told.
      throw new OAuthFailure(error)
    })
    try {
      const { accessToken } = request
      if (accessToken !== null) await this.#site.verifyLinkToken(accessToken, params)
      return await begin(request, params.signal)
    } catch (error) {
      const page = { ...params, redirect: request.redirect ?? '' }
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
    params: Params,
    data: FormData,
    override: string | null,
  ): Promise<StartRequest> {
    const { feathers_token, redirect: given, ...query } = { ...params.query } as StartQuery
    const redirect = readOptionalString('redirect', given)
    const hasPage = await this.#site.hasPage(strategy, { ...params, redirect: redirect ?? '' })
    if (!hasPage && redirect !== null) {
      throw new BadRequest("The parameter 'redirect' needs the setting 'redirect' or 'origins'")
    }
    // A form can send the token in its body, where no history and no log has it.
    const { feathers_token: posted = feathers_token, ...others } = data
    const { settings } = strategy.providerAccess.getProvider(override)
    const redirectUri = this.#site.getCallbackUrl(params, settings, override)
    return {
      ...{ strategy, override, redirect, redirectUri, query },
      // Of the page that a login began on only the origin is kept: its address may hold anything.
      referer: parseUrl(params.headers?.['referer'])?.origin ?? null,
      accessToken: await this.#site.readLinkToken(posted, strategy, params, redirectUri),
      parameters: readParameters(settings.dynamic, others, query),
    }
  }
}

/** What a request for a login asks for: the part of a flow that is no secret, and who is asked. */
interface StartRequest extends Omit<Flow, keyof FlowSecrets | 'provider'> {
  readonly strategy: OAuthStrategy
  /** For the page of the provider. */
  readonly parameters: Readonly<Record<string, string>>
}

/** Returns the answer that sends somebody to the provider, with the flow in a cookie. */
async function begin(
  { strategy, parameters, ...request }: StartRequest,
  signal: AbortSignal | undefined,
): Promise<OAuthAnswer> {
  const access = strategy.providerAccess
  const provider = access.getProvider(request.override)
  const secrets = await provider.createSecrets()
  const url = await askProvider(provider, signal, (session) =>
    session.getAuthorizationUrl(secrets, request.redirectUri, parameters),
  )
  const flow: Flow = { provider: strategy.name, ...secrets, ...request }
  const { response_mode: mode } = { ...provider.settings.customParams, ...parameters }
  const cookie = await storeFlow(flow, access.secrets, mode === 'form_post')
  if (cookie !== null) return new OAuthAnswer(url, {}, cookie)
  throw new BadRequest('The query and the token to link are too long: a cookie holds 3800 bytes')
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
    entries.map(([name, value]) => [name, readOptionalString(name, value) ?? '']),
  )
}

function readOptionalString(name: string, value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return value
  throw createNotAuthenticated(`The parameter '${name}' must be given once, as a string`)
}
