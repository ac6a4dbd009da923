import type { AroundHook, HookContext } from '../../core/index.ts'
import { MethodNotAllowed } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { proveOwner, restrictToOwn, showOnly } from '../guarded-service.ts'
import { SESSION_METHODS, toOwnSession } from './own-session.ts'
import type { Sessions } from './sessions.ts'
import type { StoredSession } from './stored-session.ts'

/** Returns a hook that has callers outside see and end their own sessions alone. Calls within the process pass. */
export function createSessionGuard(authentication: Authentication, sessions: Sessions): AroundHook {
  return async (context, next) => {
    if (context.params.provider === undefined) {
      await next()
      return noteRemoval(sessions, context)
    }
    if (!SESSION_METHODS.includes(context.method)) {
      throw new MethodNotAllowed(`Sessions can not be changed by '${context.method}'`)
    }
    const owner = await proveOwner(authentication, context, 'Sessions')
    restrictToOwn(context, owner.sub, 'Sessions')
    await next()
    showOnly(context, (session: StoredSession) => toOwnSession(session, owner['sid']))
    noteRemoval(sessions, context)
  }
}

/** Emits the end of a session that was removed by its id. `Sessions` does so where it removes many. */
function noteRemoval(sessions: Sessions, { method, id }: HookContext): void {
  if (method === 'remove' && id != null) sessions.noteEnd({ sid: String(id) })
}
