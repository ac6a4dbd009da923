import {
  MethodNotOffered,
  OAuthFailed,
  ProviderNotFound,
} from '../../../core/errors/coded-errors.ts'
import type { HookContext, Params } from '../../../core/index.ts'
import { ServiceError, toServiceError } from '../../../core/index.ts'
import { describeRefusal } from '../../auth-errors.ts'
import type { Authentication } from '../../authentication.ts'
import type { OAuthParams } from '../oauth-strategy.ts'
import { OAuthStrategy } from '../oauth-strategy.ts'
import { joinPageAddress } from '../page-address.ts'

/** The base of the two services of a flow: the start, and the callback that ends it. */
export abstract class FlowService {
  protected readonly authentication: Authentication
  /** The strategy that verifies the token of the account to link. */
  protected readonly linkStrategy: string

  constructor(authentication: Authentication, linkStrategy: string) {
    this.authentication = authentication
    this.linkStrategy = linkStrategy
  }

  /** @throws {NotFound} the path of a call does not name a provider */
  protected getStrategy({ route }: Params): OAuthStrategy {
    const name = route?.['provider'] ?? ''
    const strategy = this.authentication.getStrategy(name)
    if (strategy instanceof OAuthStrategy && strategy.isOn) return strategy
    throw new ProviderNotFound('There is no such provider')
  }

  /**
   * Returns whether the login ends on a page.
   * @throws {NotAuthenticated} the login started on, or should return to, an origin that is not allowed
   */
  protected async hasPage(strategy: OAuthStrategy, params: OAuthParams): Promise<boolean> {
    const base = await strategy.getAllowedOrigin(params)
    if (!base) return false
    joinPageAddress(base, params.redirect ?? '')
    return true
  }

  /** Returns the address of the page that receives an error; `null` if there is no page or it is not allowed. */
  protected async getErrorPage(
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
}

/** The result of a flow service: where the browser goes next, and the cookie it stores. */
export interface FlowAnswer {
  /** Where the browser goes next; `null` if it stays and gets the result. */
  readonly location: string | null
  readonly result: object
  /** The header that stores the flow in the browser, or removes it. */
  readonly cookie: string
}

/** A failed login, with what is sent to the browser. */
export class FlowFailure extends Error {
  override readonly name = 'FlowFailure'
  readonly error: ServiceError
  /** The page that receives the error; `null` if there is none and the error is the response. */
  readonly location: string | null = null
  /** The header that removes the flow from the browser; sent if there is a page. */
  readonly cookie: string | null = null
  /** Whether the error has already been logged. */
  readonly isLogged: boolean = false

  constructor(
    error: unknown,
    details: Partial<Pick<FlowFailure, 'location' | 'cookie' | 'isLogged'>> = {},
  ) {
    super('A login by OAuth has failed')
    this.error = toServiceError(error)
    Object.assign(this, details)
  }
}

/** Returns the error for the page after a login, without details of internal failures. */
function createPageError(error: unknown): ServiceError {
  const known = toServiceError(error)
  return known.code < 500 ? known : new OAuthFailed('The login has failed: try again later')
}

/**
 * An around hook that turns the result of a flow service into an HTTP response: a redirect with a cookie, never cached.
 */
export async function sendAnswer(context: HookContext, next: () => Promise<void>): Promise<void> {
  // Link previews send HEAD, which must neither start nor end a flow.
  if (context.params.requestMethod === 'HEAD') {
    throw new MethodNotOffered('A login takes GET or POST')
  }
  try {
    await next()
    const { location, result, cookie } = context.result as FlowAnswer
    setHttp(context, location, cookie)
    context.result = { ...result, location }
  } catch (failure) {
    if (!(failure instanceof FlowFailure)) throw failure
    const { error, location, cookie } = failure
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
    // The address of a callback contains the code of the provider.
    'referrer-policy': 'no-referrer',
  }
  if (location !== null) http.location = location
}

function logFailure(context: HookContext, { error, location, isLogged }: FlowFailure): void {
  const { app, params, path } = context
  const { address, route } = params
  const line = { event: 'oauth', strategy: route?.['provider'], address, path }
  if (error.code >= 500) {
    // Without a page the error is logged like any other error of a service.
    if (location) app.logger.error({ ...line, err: error.cause ?? error }, 'Login failed')
  } else if (!isLogged) {
    app.logger.warn({ ...line, ...describeRefusal(error) }, 'Login rejected')
  }
}
