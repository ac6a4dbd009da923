import { toStrategies } from '../../core/authenticating-hook.ts'
import { isDeveloping } from '../../core/hint.ts'
import type { HookGroup, HookRegistry } from '../../core/hook-registry.ts'
import type { ServiceEntry } from '../../core/index.ts'
import { findServiceEntry } from '../../core/index.ts'

/** Hooks that let everybody pass. */
const PASSING = new WeakSet<object>()

/** Services that were looked at: each may have many such hooks. */
const LOOKED_AT = new WeakSet<object>()

/** Methods that change what is there. To create is often open on purpose: to sign up, for example. */
const CHANGING: readonly string[] = ['update', 'patch', 'remove']

/** The groups whose hooks run before a method. */
const GROUPS: readonly HookGroup[] = ['before', 'around', 'short']

/** Marks a hook that refuses nobody. Returns it. */
export function markPassing<H extends object>(hook: H): H {
  PASSING.add(hook)
  return hook
}

/**
 * Warns of methods that change records, are for callers outside and have no hook of their own that may
 * refuse them, where another one has the `authenticate` hook: most often `update` was forgotten. Not
 * with `NODE_ENV=production`.
 */
export function warnOfOpenMethods(service: object): void {
  const entry = findServiceEntry(service)
  if (entry === undefined || LOOKED_AT.has(entry) || !isDeveloping()) return
  LOOKED_AT.add(entry)
  const { app, hooks, methods, path } = entry
  if (isGuarded(app.hookRegistry, 'all') || isGuarded(hooks, 'all')) return
  const changing = CHANGING.filter((name) => methods.get(name)?.external === true)
  const guarded = changing.filter((name) => isGuarded(hooks, name))
  const open = changing.filter((name) => listHooks(hooks, name).every((hook) => PASSING.has(hook)))
  if (guarded.length === 0 || open.length === 0) return
  app.logger.warn(
    { service: path },
    `Of '${path}', ${open.join(' and ')} lack${open.length === 1 ? 's' : ''} the authenticate hook of ${guarded.join(' and ')}: unless a hook for all methods refuses callers, everybody may call it. Add the hook, or leave the method out of the option methods`,
  )
}

/**
 * Returns the strategies of the `authenticate` hook around a method, `null` where it has none. Of
 * several hooks each has to be passed: the strategies are those of the first.
 */
export function findStrategies(entry: ServiceEntry, method: string): readonly string[] | null {
  const hooks = [entry.app.hookRegistry, entry.hooks].flatMap((registry) =>
    ['all', method].flatMap((name) => listHooks(registry, name)),
  )
  for (const hook of hooks) {
    const strategies = toStrategies(hook)
    if (strategies !== undefined) return strategies
  }
  return null
}

function isGuarded(registry: HookRegistry, name: string): boolean {
  return listHooks(registry, name).some((hook) => toStrategies(hook) !== undefined)
}

function listHooks(registry: HookRegistry, name: string): readonly object[] {
  return GROUPS.flatMap((group) => registry.get(group, name))
}
