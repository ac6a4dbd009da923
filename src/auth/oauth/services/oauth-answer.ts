import type { HookContext, ServiceError } from '../../../core/index.ts'
import { MethodNotAllowed } from '../../../core/index.ts'
import { toReason } from '../../auth-errors.ts'

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

/** A login that has failed, of which the page after it is told. */
export class OAuthFailure extends Error {
  readonly error: ServiceError
  /** `null` where there is no page: the error is the answer. */
  readonly location: string | null
  readonly cookie: string

  constructor(error: ServiceError, location: string | null, cookie: string) {
    super('A login by OAuth has failed')
    this.error = error
    this.location = location
    this.cookie = cookie
  }
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
    const { error, location, cookie } = failure
    logFailure(context, failure)
    // Without a page the browser keeps its flow: a forged callback must not end it.
    setHttp(context, location, location === null ? null : cookie)
    if (location === null) throw error
    context.result = error.toJSON()
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

function logFailure({ app, params, path }: HookContext, { error, location }: OAuthFailure): void {
  const { address, route } = params
  const details = { event: 'oauth', strategy: route?.['provider'], address, path }
  if (error.code < 500) {
    app.logger.warn({ ...details, ...toReason(error) }, 'Login refused')
  } else if (location !== null) {
    // Without a page, it is logged as any error that a service throws.
    app.logger.error({ ...details, err: error.cause ?? error }, 'Login failed')
  }
}
