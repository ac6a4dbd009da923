import { HookError } from '../errors/setup-errors.ts'
import { describeFunction, metadataOf } from '../function-metadata.ts'
import type { HookContext, HookGroup } from '../hooks/hook-context.ts'
import type { HookRegistry, StoredHook } from '../hooks/hook-registry.ts'
import { HOOK_KINDS } from '../hooks/hook-registry.ts'
import { STANDARD_METHODS } from '../method-table.ts'
import { isProduction } from '../node-env.ts'
import { suggestName } from '../options/name-suggestion.ts'
import type { EntryApplication, MethodEntry, WithServices } from '../services/method-entry.ts'
import { isPlainObject, isPromise } from '../value-kind.ts'
import { warnOfListeners } from './service-advice.ts'

/**
 * Completes the sentence `A hook is …` about a value used as a hook that is not one: a promise of a hook, or
 * the function that returns it. `undefined` for everything else.
 */
export function describeHook(value: unknown): string | undefined {
  if (value === undefined) {
    return 'undefined, not a function: nothing is imported or returned there'
  }
  if (isPromise(value)) return 'a promise, await it first'
  const call = typeof value === 'function' ? metadataOf(value).hookFactory : undefined
  if (call === undefined) return undefined
  return `the function ${call.slice(0, call.indexOf('('))}, which returns a hook: write ${call}`
}

/**
 * Checks that a value is not a map: methods belong inside kinds, and hooks inside methods.
 * @throws {TypeError} the value is a map in place of hooks
 */
export function refuseMap(value: unknown, group: HookGroup, name: string, label: string): void {
  if (!isPlainObject(value)) return
  const place = group === 'short' ? name : `${group} ${name}`
  const hint = suggestName(name, HOOK_KINDS) || ': { before: { create: [hook] } } is the order'
  throw new HookError(`The hooks '${place}' of ${label} are a map, not a list of functions${hint}`)
}

/**
 * Warns, in development, that the hooks of a call ended without a result. Does not warn if an error hook
 * swallowed an error, or a hook set a response instead of a result.
 */
export function warnMissingResult(method: MethodEntry, context: HookContext): void {
  if (metadataOf(method).hasWarning || isProduction() || isMeant(context)) return
  describeFunction(method, { hasWarning: true })
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

/** Keys that show that a returned object was meant for the context. */
const MEANT_FOR_CONTEXT = ['params', 'data', 'result', 'dispatch', 'id', 'http', 'error'] as const

/** Warns, once for each hook, of a returned object that looks like a part of a context. */
export function warnOfReturned(context: HookContext, returned: object, hook: object): void {
  if (metadataOf(hook).hasWarning || !isMeantForContext(context, returned)) return
  describeFunction(hook, { hasWarning: true })
  const { app, path, method } = context
  const name = (hook as { name?: string }).name || 'anonymous'
  app.logger.warn(
    { service: path, method, hook: name },
    `The hook '${name}' of '${path}' returned an object that is not a copy of the context, so it changed nothing: set context.params, context.data and so on, or return { ...context, … }`,
  )
}

/** Not `(context) => (context.data = data)`, which returns a part of the context by accident. */
function isMeantForContext(context: HookContext, returned: object): boolean {
  if (!isPlainObject(returned)) return false
  if (!MEANT_FOR_CONTEXT.some((name) => Object.hasOwn(returned, name))) return false
  const parts: unknown[] = [...Object.values(context), ...Object.values(context.params)]
  return !parts.includes(returned)
}

/**
 * Checks the hooks of an application and its services, once all services are registered. Warns of hooks for a
 * mistyped method, since an application accepts hooks for any, and of listeners for a method.
 * @throws {TypeError} a hook cannot work in its place
 */
export function checkHooks(app: WithServices): void {
  const entries = [...app.entries.values()]
  for (const { app: owner, hooks, service } of entries) checkPlaces(hooks, owner, service)
  for (const entry of entries) warnOfListeners(entry)
  for (const owner of new Set([app, ...entries.map((entry) => entry.app)])) {
    checkPlaces(owner.hookRegistry, owner, undefined)
  }
  const known = new Set([
    ...STANDARD_METHODS,
    ...entries.flatMap(({ methods }) => [...methods.keys()]),
  ])
  for (const { name } of listHooks(app.hookRegistry)) {
    const hint = name === 'all' || known.has(name) ? '' : suggestName(name, known)
    if (hint !== '')
      app.logger.warn(
        { method: name },
        `No service has the method '${name}' of a hook of the application${hint}`,
      )
  }
}

function checkPlaces(
  registry: HookRegistry,
  app: EntryApplication,
  service: object | undefined,
): void {
  for (const { group, name, hooks } of listHooks(registry)) {
    const label = `'${group === 'short' ? '' : `${group} `}${name}' of ${registry.label}`
    for (const hook of hooks) metadataOf(hook).checkPlace?.({ app, service, group, label })
  }
}

function listHooks({
  stored,
}: HookRegistry): { group: HookGroup; name: string; hooks: readonly StoredHook[] }[] {
  return [...stored].map(([key, hooks]) => {
    const [group, name] = key.split(' ') as [HookGroup, string]
    return { group, name, hooks }
  })
}
