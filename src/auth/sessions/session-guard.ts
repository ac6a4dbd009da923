import type { Application, HookContext, NextFunction, Query } from '../../core/index.ts'
import { BadRequest, MethodNotAllowed, NotAuthenticated, toServicePath } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Authentication } from '../authentication.ts'
import { authenticationServices } from '../default-authentication.ts'
import { authenticate } from '../hooks/authenticate.ts'
import type { Sessions, StoredSession } from './sessions.ts'

/** What callers outside see of their sessions. */
const SHOWN = ['_id', 'createdAt', 'usedAt', 'expiresAt', 'userAgent', 'address'] as const

/** What they may call, and what their query may have. */
const METHODS: ReadonlySet<string> = new Set(['find', 'get', 'remove'])
const PAGING: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort'])

/**
 * Has callers outside see and end their own sessions alone. Calls within the process are not changed.
 * @throws {TypeError} the service that keeps the sessions does not exist
 */
export function guardSessions(authentication: Authentication, sessions: Sessions): void {
  const { app } = authentication
  const { service } = sessions.options
  const entry = app.entries.get(toServicePath(service))
  if (entry === undefined) {
    throw new TypeError(`The '${service}' service that keeps the sessions does not exist`)
  }
  const prove = authenticate({
    service: findPath(app, authentication),
    strategies: authentication.configuration.authStrategies,
  })
  const guard = async (context: HookContext, next: NextFunction): Promise<void> => {
    if (context.params.provider === undefined) return next()
    if (!METHODS.has(context.method)) {
      throw new MethodNotAllowed(`Sessions can not be changed by '${context.method}'`)
    }
    await prove(context, async () => {
      const { sid, sub } = readClaims(context)
      restrict(context, sub)
      await next()
      show(context, sid)
      if (context.method === 'remove') sessions.noteEnd({ sid: String(context.id) })
    })
  }
  entry.hooks.add({ around: { all: [guard] } })
  entry.compile()
}

function findPath(app: Application, authentication: Authentication): string {
  const found = [...app.entries].find(([, { service }]) => service === (authentication as object))
  return found?.[0] ?? [...authenticationServices(app).keys()][0] ?? ''
}

function readClaims({ params }: HookContext): { sid: unknown; sub: string } {
  const { sid, sub } = (params.authentication?.['payload'] ?? {}) as Record<string, unknown>
  // Any proof but an access token, an API key for example, names no user by a claim.
  if (typeof sub === 'string') return { sid, sub }
  throw new NotAuthenticated('Sessions are shown for an access token alone')
}

/** @throws {BadRequest} all are to be ended at once, or the query has conditions */
function restrict(context: HookContext, userId: string): void {
  const query: Query = context.params.query ?? {}
  const other = Object.keys(query).find((name) => !PAGING.has(name))
  if (other !== undefined) throw new BadRequest(`Sessions can not be queried by '${other}'`)
  if (context.method === 'remove' && context.id == null) {
    throw new BadRequest('A session is ended by its id, all by DELETE /authentication/all')
  }
  context.params.query = { ...query, userId }
}

function show(context: HookContext, sid: unknown): void {
  const toShown = (session: StoredSession): object => ({
    ...Object.fromEntries(SHOWN.map((name) => [name, session[name]])),
    current: session._id === sid,
  })
  const { result } = context
  if (Array.isArray(result)) context.result = result.map(toShown)
  else if (isObject(result) && Array.isArray(result['data'])) {
    context.result = { ...result, data: result['data'].map(toShown) }
  } else context.result = toShown(result as StoredSession)
}
