import type { HookContext, NextFunction } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { Authentication } from '../authentication.ts'
import { findEntityService, getEntityIdName, getField } from '../entity-service.ts'
import type { Sessions } from './sessions.ts'

/** The methods that change users, or remove them. */
const METHODS = ['update', 'patch', 'remove'] as const

/**
 * Ends the sessions of users whose password or user name is changed, who are removed, or who are set to
 * `isActive: false`. The session that changes its own password goes on.
 */
export function watchUsers(authentication: Authentication, sessions: Sessions): void {
  const { app, configuration } = authentication
  const entry = app.entries.get(toServicePath(configuration.service ?? ''))
  if (entry === undefined) return
  const entityService = findEntityService(app, configuration.service)
  const idName = getEntityIdName({ configuration, entityService })
  const watch = async (context: HookContext, next: NextFunction): Promise<void> => {
    const ends = await mayEnd(authentication, context)
    await next()
    if (!ends) return
    const { sid, sub } = (context.params.authentication?.['payload'] ?? {}) as Claims
    for (const user of [context.result].flat()) {
      const id = isObject(user) ? user[idName] : undefined
      if (id === undefined) continue
      const isOwn = sub === String(id) && context.method !== 'remove'
      await sessions.endAll(String(id), isOwn ? sid : undefined)
    }
  }
  const names = METHODS.filter((name) => entry.methods.has(name))
  entry.hooks.add({ around: Object.fromEntries(names.map((name) => [name, watch])) })
  entry.compile()
}

interface Claims {
  readonly sid?: string
  readonly sub?: string
}

/** Whether a call changes what its users log in by, or whether they may. */
async function mayEnd(authentication: Authentication, context: HookContext): Promise<boolean> {
  const { id, data, method, service } = context
  if (method === 'remove') return true
  const { $set, ...fields } = isObject(data) ? data : {}
  const changes: Record<string, unknown> = { ...fields, ...(isObject($set) ? $set : {}) }
  const { passwords, names } = listFields(authentication)
  const hasPassword = passwords.some((path) => (changes[path] ?? getField(changes, path)) != null)
  if (hasPassword || changes['isActive'] === false) return true
  const given = names.filter((name) => changes[name] !== undefined)
  if (given.length === 0 || id == null) return given.length > 0
  // Forms send all fields: only another name is a change.
  const users = service as unknown as { get(id: unknown, params: object): Promise<unknown> }
  const before = (await users.get(id, {}).catch(() => null)) as Record<string, unknown> | null
  return before === null || given.some((name) => before[name] !== changes[name])
}

/** Returns the fields of users that hold their passwords and their names, by all strategies. */
function listFields(authentication: Authentication): { passwords: string[]; names: string[] } {
  const all = authentication.strategyNames.map((name) => {
    const { configuration = {} } = (authentication.getStrategy(name) ?? {}) as Configured
    return configuration
  })
  const list = (field: string): string[] =>
    all.map((one) => one[field]).filter((name) => typeof name === 'string')
  return { passwords: list('entityPasswordField'), names: list('entityUsernameField') }
}

interface Configured {
  readonly configuration?: Readonly<Record<string, unknown>>
}
