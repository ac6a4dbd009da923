import type { AroundHook, HookContext, Query } from '../../core/index.ts'
import { BadRequest, MethodNotAllowed, NotAcceptable, NotAuthenticated } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Authentication } from '../authentication.ts'
import { proveParams } from '../hooks/authenticate.ts'
import { getTokenClaims } from '../proof.ts'
import type { Sessions } from './sessions.ts'
import type { StoredSession } from './stored-session.ts'

/** What callers outside see of their sessions. */
const SHOWN = ['_id', 'createdAt', 'usedAt', 'expiresAt', 'userAgent', 'address'] as const

/** What they may call, and what their query may have. */
const METHODS: ReadonlySet<string> = new Set(['find', 'get', 'remove'])
const PAGING: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort'])

/** Returns a hook that has callers outside see and end their own sessions alone. Calls within the process pass. */
export function createSessionGuard(authentication: Authentication, sessions: Sessions): AroundHook {
  return async (context, next) => {
    if (context.params.provider === undefined) {
      await next()
      return noteRemoval(sessions, context)
    }
    if (!METHODS.has(context.method)) {
      throw new MethodNotAllowed(`Sessions can not be changed by '${context.method}'`)
    }
    // Each refresh would be told of at once: whoever has stolen a token would know when to repeat it.
    if (String(context.params.headers?.['accept']).includes('text/event-stream')) {
      throw new NotAcceptable('There is no stream of sessions')
    }
    await proveParams(authentication, context, authentication.configuration.authStrategies)
    const { sid, sub } = readOwner(context)
    restrict(context, sub)
    await next()
    show(context, sid)
    noteRemoval(sessions, context)
  }
}

/** Those that are removed by a query are told of by who has made it. */
function noteRemoval(sessions: Sessions, { method, id }: HookContext): void {
  if (method === 'remove' && id != null) sessions.noteEnd({ sid: String(id) })
}

function readOwner({ params }: HookContext): { sid: unknown; sub: string } {
  const { sid, sub } = getTokenClaims(params.authentication)
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
    // No use makes a session live longer than that.
    expiresAt: session.endsAt < session.expiresAt ? session.endsAt : session.expiresAt,
    current: session._id === sid,
  })
  const { result } = context
  if (Array.isArray(result)) context.result = result.map(toShown)
  else if (isObject(result) && Array.isArray(result['data'])) {
    context.result = { ...result, data: result['data'].map(toShown) }
  } else context.result = toShown(result as StoredSession)
  // What hooks of the service have put there has what is stored.
  context.dispatch = context.result
}
