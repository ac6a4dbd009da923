import { OAuthFlowEnded } from '../../../core/errors/coded-errors.ts'
import type { AuthenticationRequest, Params } from '../../../core/index.ts'
import { createRefusal } from '../../auth-errors.ts'
import type { AuthenticationResult } from '../../authentication.ts'
import { withoutProvider } from '../../authentication-params.ts'
import { proveProfile } from '../../proof.ts'
import type { Flow } from '../flow-cookie.ts'
import { FLOW_LIFETIME_SECONDS, NO_FLOW, readFlow, removeFlow } from '../flow-cookie.ts'
import type { OAuthParams, OAuthStrategy } from '../oauth-strategy.ts'
import { askProvider } from '../provider/provider-session.ts'
import type { FlowAnswer } from './flow-service.ts'
import { FlowFailure, FlowService } from './flow-service.ts'

/** Handles the way back from a provider: `GET /oauth/github/callback`, or `POST` with a form. */
export class OAuthCallbackService extends FlowService {
  /** Ends a flow. */
  find(params: Params): Promise<FlowAnswer> {
    return this.#finish(params.query ?? {}, params)
  }

  /** Ends a flow of a provider that responds with a form. */
  create(data: Record<string, unknown>, params: Params): Promise<FlowAnswer> {
    return this.#finish(data, params)
  }

  async #finish(fields: Readonly<Record<string, unknown>>, params: Params): Promise<FlowAnswer> {
    const strategy = this.getStrategy(params)
    const flow = await findFlow(strategy, fields, params).catch((error: unknown) => {
      // The sender is unknown, so the browser is not redirected.
      throw new FlowFailure(error)
    })
    const login = createLoginParams(flow, params, this.linkStrategy)
    const cookie = removeFlow(flow)
    // Errors of the authentication service were already logged by its hooks.
    let isLogged = false
    const logIn = async (): Promise<AuthenticationResult> => {
      // Checked before the login: if the page is no longer allowed, nothing may be stored.
      await this.hasPage(strategy, login)
      const request = await ask(strategy, flow, readParameters(fields), login)
      const { authentication } = this
      const { name, entityId, configuration, providerAccess: access } = strategy
      if (!access.getProvider(flow.override).settings.givesCode) {
        isLogged = true
        const result = await authentication.create(request, login)
        isLogged = false
        return result
      }
      // The token is created when the code is exchanged, as the hooks of the login run then. Internal params, as the id
      // may be hidden from external callers.
      const result = await authentication.authenticate(request, withoutProvider(login), name)
      const entity = result[String(configuration['entity'])] as Record<string, unknown>
      return { code: access.createCode(String(entity[entityId])), strategy: name }
    }
    try {
      const result = await logIn()
      return { location: await strategy.getRedirect(result, login), result, cookie }
    } catch (error) {
      const location = await this.getErrorPage(strategy, error, login)
      throw new FlowFailure(error, { location, cookie, isLogged })
    }
  }
}

/**
 * Returns the flow that a callback belongs to.
 * @throws {NotAuthenticated} this browser has no such flow
 */
async function findFlow(
  strategy: OAuthStrategy,
  fields: Readonly<Record<string, unknown>>,
  { headers }: Params,
): Promise<Flow> {
  const { state } = Object.fromEntries(readParameters(fields))
  const access = strategy.providerAccess
  const flow = readFlow(strategy.name, headers?.['cookie'], access.secrets)
  if (state !== flow.state)
    throw createRefusal(NO_FLOW, 'the state is that of another flow', OAuthFlowEnded)
  if (!(await access.claimHere(...getFlowUse(flow))))
    throw createRefusal(NO_FLOW, 'it was used', OAuthFlowEnded)
  return flow
}

/** Returns the id under which a flow is marked as used, and until when. */
function getFlowUse({ state }: Flow): [id: string, exp: number] {
  return [`oauth ${state}`, Math.floor(Date.now() / 1000) + FLOW_LIFETIME_SECONDS]
}

/** Verifies with the provider who has come back, and returns the request for the strategy. */
async function ask(
  strategy: OAuthStrategy,
  flow: Flow,
  fields: URLSearchParams,
  { signal }: Params,
): Promise<AuthenticationRequest> {
  const { name, providerAccess: access } = strategy
  const provider = access.getProvider(flow.override)
  const { profile, ...tokens } = await askProvider(provider, signal, (session) =>
    session.finish(fields, flow),
  )
  // Only after the provider has confirmed the login: anyone can start flows and would fill the list.
  if (!(await access.claimEverywhere(...getFlowUse(flow))))
    throw createRefusal(NO_FLOW, 'it was used', OAuthFlowEnded)
  return { strategy: name, ...tokens, profile: proveProfile(profile, name) }
}

/** Each parameter may appear once, as a string: with two, an attacker could choose which counts. */
function readParameters(fields: Readonly<Record<string, unknown>>): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string')
      throw createRefusal(NO_FLOW, `the parameter '${name}' is not a string`, OAuthFlowEnded)
    parameters.set(name, value)
  }
  return parameters
}

function createLoginParams(flow: Flow, params: Params, linkStrategy: string): OAuthParams {
  const { accessToken, query, redirect, referer } = flow
  const { authentication: _authentication, ...others } = withoutProvider(params)
  return {
    ...others,
    provider: params.provider,
    headers: referer === null ? {} : { referer },
    authStrategies: [flow.provider],
    ...(accessToken === null ? {} : { authentication: { strategy: linkStrategy, accessToken } }),
    query: { ...query },
    redirect: redirect ?? '',
  }
}
