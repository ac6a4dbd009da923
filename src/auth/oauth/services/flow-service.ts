import type { HookContext, Params } from '../../../core/index.ts'
import {
  GeneralError,
  MethodNotAllowed,
  NotFound,
  ServiceError,
  toServiceError,
} from '../../../core/index.ts'
import { describeRefusal } from '../../auth-errors.ts'
import type { Authentication } from '../../authentication.ts'
import type { OAuthParams } from '../oauth-strategy.ts'
import { OAuthStrategy } from '../oauth-strategy.ts'
import { joinPageAddress } from '../page-address.ts'

/** The services of a flow: its start, and the callback that ends it. */
export abstract class FlowService {
  protected readonly authentication: Authentication
  /** The strategy that verifies the token of the account to link. */
  protected readonly linkStrategy: string

  constructor(authentication: Authentication, linkStrategy: string) {
    this.authentication = authentication
    this.linkStrategy = linkStrategy
  }

  /** @throws {NotFound} the path of a call names no provider */
  protected getStrategy({ route }: Params): OAuthStrategy {
    const name = route?.['provider'] ?? ''
    const strategy = this.authentication.getStrategy(name)
    if (strategy instanceof OAuthStrategy && strategy.isOn) return strategy
    throw new NotFound('There is no such provider')
  }

  /**
   * Returns whether a page follows a login.
   * @throws {NotAuthenticated} the caller wants it to be elsewhere, or comes from elsewhere
   */
  protected async hasPage(strategy: OAuthStrategy, params: OAuthParams): Promise<boolean> {
    const base = await strategy.getAllowedOrigin(params)
    if (!base) return false
    joinPageAddress(base, params.redirect ?? '')
    return true
  }

  /**
   * Returns the page that is told of an error, `null` where there is none, or none that is allowed.
   */
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

/** What the services of a flow answer: where the browser goes on, and what it keeps meanwhile. */
export interface FlowAnswer {
  /** Where the browser goes on, `null` where it stays and gets the result. */
  readonly location: string | null
  readonly result: object
  /** The header that keeps the flow in the browser, or removes it. */
  readonly cookie: string
}

/** A login that has failed, and what becomes of it. */
export class FlowFailure extends Error {
  override readonly name = 'FlowFailure'
  readonly error: ServiceError
  /** The page that is told of it; `null` where there is none, and the error is the answer. */
  readonly location: string | null = null
  /** The header that has the browser forget the flow, sent where there is a page. */
  readonly cookie: string | null = null
  /** Whether somebody else has logged it. */
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
    // The address of a callback has the code of the provider.
    'referrer-policy': 'no-referrer',
  }
  if (location !== null) http.location = location
}

function logFailure(context: HookContext, { error, location, isLogged }: FlowFailure): void {
  const { app, params, path } = context
  const { address, route } = params
  const line = { event: 'oauth', strategy: route?.['provider'], address, path }
  if (error.code >= 500) {
    // Without a page, it is logged as any error that a service throws.
    if (location) app.logger.error({ ...line, err: error.cause ?? error }, 'Login failed')
  } else if (!isLogged) {
    app.logger.warn({ ...line, ...describeRefusal(error) }, 'Login refused')
  }
}
