import { isDeveloping } from '../../core/errors/hint.ts'
import { toStrategies } from '../../core/hooks/authenticating-hook.ts'
import type { HookGroup, HookRegistry } from '../../core/hooks/hook-registry.ts'
import type { ServiceEntry } from '../../core/index.ts'
import { findServiceEntry } from '../../core/index.ts'

/** Hooks that let everybody pass. */
const PASSING = new WeakSet<object>()

/** Services that were looked at: each may have many such hooks. */
const LOOKED_AT = new WeakSet<object>()

/** Methods that change what is there. */
const CHANGING: readonly string[] = ['update', 'patch', 'remove']

/** Of these one that is guarded says of the others that they should be. */
const WRITING: readonly string[] = ['create', ...CHANGING]

/** The groups whose hooks run before a method. */
const GROUPS: readonly HookGroup[] = ['before', 'around', 'short']

/** Marks a hook that refuses nobody. Returns it. */
export function markPassing<H extends object>(hook: H): H {
  PASSING.add(hook)
  return hook
}

/**
 * Warns of methods that change records, are for callers outside and have no hook of their own that may
 * refuse them, where another one or `create` has the `authenticate` hook: most often `update` was
 * forgotten. `create` itself is often open on purpose: to sign up, for example. Not with
 * `NODE_ENV=production`.
 */
export function warnOfOpenMethods(service: object): void {
  const entry = findServiceEntry(service)
  if (entry === undefined || LOOKED_AT.has(entry) || !isDeveloping()) return
  LOOKED_AT.add(entry)
  const { app, hooks, methods, path } = entry
  if (isGuarded(app.hookRegistry, 'all') || isGuarded(hooks, 'all')) return
  const isExternal = (name: string): boolean => methods.get(name)?.external === true
  const passes = (name: string): boolean =>
    listHooks(hooks, name).every((hook) => PASSING.has(hook))
  const guarded = WRITING.filter((name) => isExternal(name) && isGuarded(hooks, name))
  const open = CHANGING.filter((name) => isExternal(name) && passes(name))
  if (guarded.length === 0 || open.length === 0) return
  const [lack, them] = open.length === 1 ? ['lacks', 'it'] : ['lack', 'them']
  app.logger.warn(
    { service: path },
    `Of '${path}', ${toList(open)} ${lack} the authenticate hook of ${toList(guarded)}: unless a hook for all methods refuses callers, everybody may call ${them}. Add the hook, or leave ${them} out of the option methods`,
  )
}

/** Returns names as they stand in a sentence: `update, patch and remove`. */
function toList(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1')
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
