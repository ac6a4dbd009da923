import { isDeveloping } from './hint.ts'
import type { HookContext } from './hook-context.ts'
import type { HookRegistry } from './hook-registry.ts'
import type { MethodEntry } from './method-entry.ts'

/** Methods that were warned about: one warning for each is enough. */
const WARNED = new WeakSet<object>()

/**
 * Warns, while developing, that the hooks of a call have ended without a result. Not where an error
 * hook has swallowed an error, or a hook has said what to answer in place of a result.
 */
export function warnMissingResult(method: MethodEntry, context: HookContext): void {
  if (WARNED.has(method) || !isDeveloping() || isMeant(context)) return
  WARNED.add(method)
  const { name, entry } = method
  const registries: readonly HookRegistry[] = [entry.app.hookRegistry, entry.hooks]
  const hooks = registries
    .flatMap((registry) => registry.getAround(name))
    .map((hook) => hook.name || 'anonymous')
  entry.app.logger.warn(
    { service: entry.path, method: name, hooks },
    `'${name}' of service '${entry.path}' was not called and has no result: one of its around hooks (${hooks.join(', ')}) must await next(), or set context.result`,
  )
}

function isMeant({ original, dispatch, http }: HookContext): boolean {
  return original !== undefined || dispatch !== undefined || Object.keys(http).length > 0
}
