import type { AroundHook } from '../../core/index.ts'
import { MethodNotAllowed } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { proveOwner, restrictToOwn, showOnly } from '../guarded-service.ts'
import type { Sessions, StoredSession } from './sessions.ts'

/** What callers outside see of their sessions. */
const SHOWN = ['_id', 'createdAt', 'usedAt', 'expiresAt', 'userAgent', 'address'] as const

/** What they may call. */
const METHODS: ReadonlySet<string> = new Set(['find', 'get', 'remove'])

/** Returns a hook that has callers outside see and end their own sessions alone. Calls within the process pass. */
export function createSessionGuard(authentication: Authentication, sessions: Sessions): AroundHook {
  return async (context, next) => {
    if (context.params.provider === undefined) return next()
    if (!METHODS.has(context.method)) {
      throw new MethodNotAllowed(`Sessions can not be changed by '${context.method}'`)
    }
    const owner = await proveOwner(authentication, context, 'Sessions')
    restrictToOwn(context, owner.sub, 'Sessions')
    await next()
    showOnly(context, (session: StoredSession) => ({
      ...Object.fromEntries(SHOWN.map((name) => [name, session[name]])),
      current: session._id === owner['sid'],
    }))
    if (context.method === 'remove') sessions.noteEnd({ sid: String(context.id) })
  }
}
