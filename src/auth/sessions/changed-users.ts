import { afterCommit } from '../../core/events/event-gate.ts'
import type { AroundHook, HookContext } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Authentication } from '../authentication.ts'
import { findEntityService, getEntityIdName, getField } from '../entity-service.ts'
import { listLoginFields, readChange, setsPassword, writesField } from '../login-fields.ts'
import { getTokenClaims } from '../proof.ts'
import type { Sessions } from './sessions.ts'

/** The methods that change users, or remove them. */
export const WATCHED_METHODS = ['update', 'patch', 'remove'] as const

/**
 * Returns a hook that ends the sessions of users whose password or user name changes, who are removed, or who are set
 * to `isActive: false`. A session that changes its user's own password continues.
 */
export function createUserWatch(authentication: Authentication, sessions: Sessions): AroundHook {
  return async (context, next) => {
    const { app, configuration } = authentication
    const entityService = findEntityService(app, configuration.service)
    const idName = getEntityIdName({ configuration, entityService })
    const ends = await endsLogins(authentication, context)
    await next()
    // Checked again: a hook may have set the password from a field with another name.
    const change = readChange(context.data)
    if (!ends && !setsPassword(listLoginFields(authentication), change)) return
    const { sid, sub } = getTokenClaims(context.params.authentication)
    const found = [context.result].flat().map((user) => (isObject(user) ? user[idName] : undefined))
    const changed = context.id == null ? found : [context.id]
    const ids = changed.filter((id) => id != null).map(String)
    for (const id of ids) {
      const isOwn = sub === id && context.method !== 'remove'
      const keep = isOwn && typeof sid === 'string' ? sid : undefined
      // Both at once: a refresh of the session in between finds it outdated.
      await Promise.all([
        sessions.endAll(id, keep),
        keep !== undefined && sessions.keep(keep, id, 'isActive' in change.fields),
      ])
    }
    // Logins read the user unchanged until a transaction commits.
    afterCommit(() => {
      endOutdated(sessions, ids).catch((error: unknown) =>
        app.logger.error({ err: error }, 'Sessions of before a transaction could not be ended'),
      )
    })
  }
}

async function endOutdated(sessions: Sessions, ids: readonly string[]): Promise<void> {
  for (const id of ids) await sessions.endOutdated(id)
}

/** Returns whether a call changes the password or the user name of users, or disables them. */
async function endsLogins(authentication: Authentication, context: HookContext): Promise<boolean> {
  const { id, data, method, service } = context
  // An update replaces the whole record, including the password.
  if (method === 'remove' || method === 'update') return true
  const change = readChange(data)
  const { fields, targets, removed } = change
  const loginFields = listLoginFields(authentication)
  const { names } = loginFields
  if (setsPassword(loginFields, change)) return true
  if (targets.includes('isActive') || ('isActive' in fields && !fields['isActive'])) return true
  if (names.some((name) => removed.includes(name) || targets.includes(name))) return true
  const given = names.filter((name) => writesField(change, name))
  if (given.length === 0 || id == null) return given.length > 0
  // Forms send all fields, changed or not, so the name is compared with the stored one.
  const users = service as unknown as { get(id: unknown, params: object): Promise<unknown> }
  const before = (await users.get(id, {}).catch(() => null)) as Record<string, unknown> | null
  const readNew = (name: string): unknown => fields[name] ?? getField(fields, name)
  return before === null || given.some((name) => getField(before, name) !== readNew(name))
}
