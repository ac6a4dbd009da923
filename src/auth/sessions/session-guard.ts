import type { AroundHook, HookContext } from '../../core/index.ts'
import { MethodNotAllowed } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { proveOwner, restrictToOwn, showOnly } from '../guarded-service.ts'
import type { Sessions } from './sessions.ts'
import type { StoredSession } from './stored-session.ts'

/** What callers outside see of their sessions. */
const SHOWN = ['_id', 'createdAt', 'usedAt', 'expiresAt', 'userAgent', 'address'] as const

/** The methods that callers outside may call. */
const METHODS: ReadonlySet<string> = new Set(['find', 'get', 'remove'])

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
    const owner = await proveOwner(authentication, context, 'Sessions')
    restrictToOwn(context, owner.sub, 'Sessions')
    await next()
    showOnly(context, (session: StoredSession) => ({
      ...Object.fromEntries(SHOWN.map((name) => [name, session[name]])),
      // A refresh moves `expiresAt`, at times beyond the end that nothing moves.
      expiresAt: session.endsAt < session.expiresAt ? session.endsAt : session.expiresAt,
      current: session._id === owner['sid'],
    }))
    noteRemoval(sessions, context)
  }
}

/** Emits the end of a session that was removed by its id. `Sessions` does so where it removes many. */
function noteRemoval(sessions: Sessions, { method, id }: HookContext): void {
  if (method === 'remove' && id != null) sessions.noteEnd({ sid: String(id) })
}
