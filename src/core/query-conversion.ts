import type { HookGroup, HookRegistry } from './hooks/hook-registry.ts'
import type { ServiceEntryFace } from './services/method-entry.ts'

/** Methods `find` that compare values of one type only: the strings of a URL match no numbers. */
const COMPARING_BY_TYPE = new WeakSet<object>()

/** Hooks that leave the query as it is. */
const NOT_CONVERTING = new WeakSet<object>()

/** Has the author told where callers outside reach this `find` and no hook converts their values. */
export function compareByType(find: object): void {
  COMPARING_BY_TYPE.add(find)
}

/** Says of a hook that it converts no values of a query. Returns the hook. */
export function leaveQuery<H extends object>(hook: H): H {
  NOT_CONVERTING.add(hook)
  return hook
}

/** Whether strings of callers outside are compared by their type, and no hook may convert them. */
export function lacksConversion({ app, methods, hooks, schemas }: ServiceEntryFace): boolean {
  if (schemas !== null) return false
  const find = methods.get('find')
  if (find === undefined || !find.external || !COMPARING_BY_TYPE.has(find.original)) return false
  // Hooks around all services log and measure.
  return (
    !mayConvert(app.hookRegistry, ['before']) && !mayConvert(hooks, ['before', 'around', 'short'])
  )
}

function mayConvert(registry: HookRegistry, groups: readonly HookGroup[]): boolean {
  return groups
    .flatMap((group) => ['all', 'find'].flatMap((name) => registry.get(group, name)))
    .some((hook) => !NOT_CONVERTING.has(hook))
}
