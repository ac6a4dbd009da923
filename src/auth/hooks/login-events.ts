import { createHash } from 'node:crypto'
import { nameFunction } from '../../core/function-metadata.ts'
import type { AroundHook, HookContext } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import { describeRefusal, NO_ATTEMPT } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { getField } from '../entity-service.ts'
import { getTokenClaims } from '../proof.ts'

type LoginEvent = 'login' | 'logout'

/** Adds the hooks that report logins and logouts to a service, as soon as it is registered. */
export function installLoginHooks(service: Authentication): void {
  service.app.observe((change, _path, entry) => {
    if (change !== 'added' || entry.service !== (service as object)) return
    entry.hooks.add({
      around: {
        create: createLoginHook(service, 'login'),
        remove: createLoginHook(service, 'logout'),
      },
    })
    entry.compile()
  })
}

/** Notifies the strategies that a real-time connection has logged in or out, also after an internal call. */
async function tellConnection(
  service: Authentication,
  event: LoginEvent,
  { params, result }: HookContext,
): Promise<void> {
  const { connection } = params
  if (typeof connection !== 'object' || connection === null || !result) return
  await service.handleConnection(
    event,
    connection as Record<string, unknown>,
    result as AuthenticationResult,
  )
}

/**
 * Returns a hook that, after an external call, notifies the strategies of the connection, then the listeners `(result,
 * params, context)` of the application's event, and writes the log.
 */
function createLoginHook(service: Authentication, event: LoginEvent): AroundHook {
  const hook: AroundHook = async (context, next) => {
    const params = context.params as AuthenticationParams
    if (!params.provider) {
      await next()
      await tellConnection(service, event, context)
      return
    }
    // The response contains a token and must not be cached. `no-store` also prevents compression: the size of a
    // compressed response could reveal the token.
    context.http.headers = { 'Cache-Control': 'no-store', ...context.http.headers }
    try {
      await next()
    } catch (error) {
      reportFailure(service, event, context, error)
      throw error
    }
    const result = context.result as AuthenticationResult | null | undefined
    if (!result) return
    await tellConnection(service, event, context)
    const strategy = result.authentication?.strategy
    const { entity } = service.configuration
    const { sub } = getTokenClaims(result.authentication)
    const caller = { address: params.address, ...(entity == null ? {} : { [entity]: sub }) }
    for (const extension of service.loginExtensions ?? []) {
      const other = extension.toLogEntry?.(context, result) ?? null
      if (other === null) continue
      service.app.logger.info({ event: other.event, ...caller }, other.message)
      return
    }
    const message = event === 'login' ? 'Logged in' : 'Logged out'
    service.app.logger.info({ event, strategy, ...caller }, message)
    service.app.emit(event, result, params, context)
  }
  return nameFunction(event === 'login' ? 'tellOfLogin' : 'tellOfLogout', hook)
}

/** Logs a rejected login or logout with its reason, which the caller does not see. */
export function reportFailure(
  service: Authentication,
  event: LoginEvent,
  context: Pick<HookContext, 'data' | 'params'>,
  error: unknown,
): void {
  if (!(error instanceof ServiceError) || error.code >= 500) return
  if (error.cause === NO_ATTEMPT) return
  const { strategy } = (context.data ?? {}) as { strategy?: unknown }
  const name = service.strategyNames.find((known) => known === strategy)
  const account = name === undefined ? {} : hashAccount(service.getStrategy(name), context.data)
  const { address } = context.params as AuthenticationParams
  service.app.logger.warn(
    { event, strategy: name, address, ...account, code: error.code, ...describeRefusal(error) },
    event === 'login' ? 'Login failed' : 'Logout failed',
  )
}

/** Returns the hash of the user name in the data of a login: email addresses must not reach the log. */
function hashAccount(strategy: object | undefined, data: unknown): object {
  const { configuration } = (strategy ?? {}) as { configuration?: { usernameField?: unknown } }
  const usernameField = configuration?.usernameField
  if (typeof usernameField !== 'string') return {}
  const name = getField(data, usernameField)
  if (typeof name !== 'string') return {}
  return { account: createHash('sha256').update(name.trim().toLowerCase()).digest('hex') }
}
