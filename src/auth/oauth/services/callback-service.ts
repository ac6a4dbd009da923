import type { Params } from '../../../core/index.ts'
import { toServiceError } from '../../../core/index.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { AuthenticationResult } from '../../authentication.ts'
import { claimOnce } from '../../tokens/token-revocation.ts'
import type { OAuthParams, OAuthStrategy } from '../oauth-strategy.ts'
import { askProvider } from '../provider/ask-provider.ts'
import { proveProfile } from '../provider/profile-id.ts'
import type { ProviderAccess } from '../provider-access.ts'
import { getAccess } from '../provider-access.ts'
import type { Flow } from '../sealed/flow-cookie.ts'
import { FLOW_LIFETIME_SECONDS, FlowCookie, NO_FLOW } from '../sealed/flow-cookie.ts'
import { OAuthAnswer, OAuthFailure } from './oauth-answer.ts'
import type { OAuthSite } from './oauth-site.ts'

/** Where providers send people back to: `GET /oauth/github/callback`, or `POST` by a form. */
export class OAuthCallbackService {
  readonly #site: OAuthSite

  constructor(site: OAuthSite) {
    this.#site = site
  }

  /** Ends a flow. */
  find(params: Params): Promise<OAuthAnswer> {
    return this.#finish(params.query ?? {}, params)
  }

  /** Ends a flow of a provider that answers by a form. */
  create(data: Record<string, unknown>, params: Params): Promise<OAuthAnswer> {
    return this.#finish(data, params)
  }

  async #finish(fields: Readonly<Record<string, unknown>>, params: Params): Promise<OAuthAnswer> {
    const strategy = this.#site.getStrategy(params)
    const access = getAccess(strategy)
    const callbackUrl = this.#site.getCallbackUrl(params, access.getProvider().settings, null)
    const cookie = new FlowCookie(strategy.name, callbackUrl, false)
    const { flow, answer } = await this.#readFlow(cookie, access, fields, params)
    const loginParams = toLoginParams(flow, params, this.#site.linkStrategy)
    try {
      const result = await this.#logIn(strategy, flow, answer, loginParams)
      const location = await strategy.getRedirect(result, loginParams)
      return new OAuthAnswer(location, result, cookie.removal)
    } catch (cause) {
      const error = toServiceError(cause)
      const location = await strategy.getRedirect(error, loginParams)
      throw new OAuthFailure(error, location, cookie.removal)
    }
  }

  /**
   * Returns the flow that a callback belongs to, and what the provider answers. Without a flow nothing
   * is known of who sends it, so that the answer leads nowhere.
   */
  async #readFlow(
    cookie: FlowCookie,
    access: ProviderAccess,
    fields: Readonly<Record<string, unknown>>,
    params: Params,
  ): Promise<{ readonly flow: Flow; readonly answer: URLSearchParams }> {
    try {
      const answer = toParameters(fields)
      const flow = await cookie.read(params.headers?.['cookie'], access.secrets)
      if (flow.provider !== access.name) throw refuse('the flow was begun with another provider')
      if (answer.get('state') !== flow.state) throw refuse('the state is that of another flow')
      const exp = Math.floor(Date.now() / 1000) + FLOW_LIFETIME_SECONDS
      if (!(await claimOnce(access.used, `oauth ${flow.state}`, exp))) throw refuse('it was used')
      return { flow, answer }
    } catch (error) {
      throw new OAuthFailure(toServiceError(error), null, cookie.removal)
    }
  }

  async #logIn(
    strategy: OAuthStrategy,
    flow: Flow,
    fields: URLSearchParams,
    params: OAuthParams,
  ): Promise<AuthenticationResult> {
    const { name } = strategy
    const access = getAccess(strategy)
    const provider = access.getProvider(flow.override)
    const { profile, ...tokens } = await askProvider(provider, params.signal, () =>
      provider.finish(fields, flow),
    )
    const request = { strategy: name, ...tokens, profile: proveProfile(profile, name) }
    const { authentication } = this.#site
    if (!provider.settings.givesCode) return authentication.create(request, params)
    // The token is made when the code is exchanged, where the hooks of the login run.
    const result = await authentication.authenticate(
      request,
      { ...params, provider: undefined },
      name,
    )
    const entity = result[String(strategy.configuration['entity'])] as Record<string, unknown>
    return { code: await access.createCode(String(entity[strategy.entityId])), strategy: name }
  }
}

function refuse(reason: string) {
  return createNotAuthenticated(NO_FLOW, undefined, { reason })
}

/** Each parameter once, as text: which of two would count could be chosen by an attacker. */
function toParameters(fields: Readonly<Record<string, unknown>>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string') throw refuse(`the parameter '${name}' is no text`)
    parameters.set(name, value)
  }
  return parameters
}

function toLoginParams(flow: Flow, params: Params, linkStrategy: string): OAuthParams {
  const { accessToken, query, redirect, referer, provider } = flow
  return {
    ...params,
    signal: params.signal,
    address: params.address,
    requestId: params.requestId,
    headers: referer === null ? {} : { referer },
    authStrategies: [provider],
    authentication: accessToken === null ? undefined : { strategy: linkStrategy, accessToken },
    query: { ...query },
    redirect: redirect ?? '',
  }
}
