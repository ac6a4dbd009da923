import type { HookContext } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import { toReason } from '../auth-errors.ts'

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
  readonly error: unknown
  readonly location: string | null
  readonly cookie: string

  constructor(error: unknown, location: string | null, cookie: string) {
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
  try {
    await next()
    const { location, result, cookie } = context.result as OAuthAnswer
    setHttp(context, location, cookie)
    context.result = { ...result, location }
  } catch (failure) {
    if (!(failure instanceof OAuthFailure)) throw failure
    const { error, location, cookie } = failure
    logFailure(context, error)
    setHttp(context, location, cookie)
    if (location === null || !(error instanceof ServiceError)) throw error
    context.result = error.toJSON()
  }
}

function setHttp(context: HookContext, location: string | null, cookie: string): void {
  const { http } = context
  http.headers = {
    ...http.headers,
    'set-cookie': cookie,
    'cache-control': 'no-store',
    // The address of a callback has the code of the provider.
    'referrer-policy': 'no-referrer',
  }
  if (location !== null) http.location = location
}

function logFailure({ app, params, path }: HookContext, error: unknown): void {
  const { address, route } = params
  const strategy = route?.['provider']
  if (!(error instanceof ServiceError) || error.code >= 500) return
  app.logger.warn({ event: 'oauth', strategy, address, path, ...toReason(error) }, 'Login refused')
}
