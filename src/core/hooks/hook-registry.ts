import { HookError } from '../errors/setup-errors.ts'
import { isObject, isPlainObject } from '../value-kind.ts'
import type { HookAdvice, HookContext, HookGroup, HookType } from './hook-context.ts'

/**
 * A stored hook, without the types of its service. Only around hooks are called with `next`: hooks written
 * for Feathers use it to tell as which kind they run.
 */
export type StoredHook = (context: HookContext, next?: () => Promise<void>) => unknown

/** The kinds of hooks. */
export const HOOK_KINDS: readonly HookType[] = ['around', 'before', 'after', 'error']

interface HookRegistryOptions {
  /** How errors name the owner of the hooks. */
  readonly label: string
  /** The group of hooks given without a kind. */
  readonly shortGroup: 'around' | 'short'
  /** The methods that hooks can be registered for. Errors list its keys. */
  readonly methods: { has(name: string): boolean; keys(): Iterable<string> }
  readonly advice: HookAdvice | undefined
}

/** The hooks of one application or service, in the order in which they were registered. */
export class HookRegistry {
  /** The hooks by their group and the name of their method or `all`: `'before all'`. */
  readonly stored: Map<string, readonly StoredHook[]> = new Map()
  /** How errors name the owner of the hooks. */
  readonly label: string
  readonly #options: HookRegistryOptions

  constructor(options: HookRegistryOptions) {
    this.label = options.label
    this.#options = options
  }

  /**
   * Adds hooks in any of the documented formats.
   * @throws {TypeError} an unknown kind or method name, or a value that is not a function
   */
  add(options: unknown): void {
    const { label } = this
    if (!canHoldHooks(options)) {
      throw new HookError(`The hooks of ${label} must be an object or an array`)
    }
    const additions = Object.keys(options).some(isHookType)
      ? Object.entries(options).flatMap(([kind, hooks]) => this.#readKind(kind, hooks))
      : this.#readGroup(this.#options.shortGroup, options)
    for (const [key, hooks] of additions) {
      this.stored.set(key, [...(this.stored.get(key) ?? []), ...hooks])
    }
  }

  /** Returns the hooks of a group for one method name or `all`. */
  get(group: HookGroup, name: string): readonly StoredHook[] {
    return this.stored.get(`${group} ${name}`) ?? []
  }

  /** Returns the around hooks of a method, outermost first. */
  getAround(method: string): readonly StoredHook[] {
    return (['short', 'around'] as const).flatMap((group) => [
      ...this.get(group, 'all'),
      ...this.get(group, method),
    ])
  }

  #readKind(kind: string, given: unknown): Addition[] {
    const { label, advice } = this.#options
    if (!isHookType(kind)) {
      const hint = advice?.suggestName(kind, HOOK_KINDS) || `, allowed are ${HOOK_KINDS.join(', ')}`
      throw new HookError(`'${kind}' is not a valid hook type${hint}`)
    }
    if (canHoldHooks(given)) return this.#readGroup(kind, given)
    throw new HookError(`The ${kind} hooks of ${label} must be functions, a list or a map`)
  }

  #readGroup(group: HookGroup, given: object): Addition[] {
    const { label, methods, advice } = this.#options
    const isList = Array.isArray(given) || typeof given === 'function'
    return Object.entries(isList ? { all: given } : given).flatMap(([name, value]): Addition[] => {
      advice?.refuseMap(value, group, name, label)
      const hooks: unknown[] = Array.isArray(value) ? value : [value]
      for (const hook of hooks) {
        const fault = advice?.describeHook(hook)
        if (fault === undefined && typeof hook === 'function') continue
        const place = `${group === 'short' ? 'around' : group}${isList ? '' : ` ${name}`}`
        const order = isPlainObject(hook) ? ': { before: { create: [hook] } } is the order' : ''
        throw new HookError(
          `A hook in '${place}' of ${label} is ${fault ?? `${typeof hook}, not a function${order}`}`,
        )
      }
      // An empty list says nothing about a method: generators write one for each standard method.
      if (hooks.length === 0) return []
      if (name === 'all' || methods.has(name)) return [[`${group} ${name}`, hooks as StoredHook[]]]
      const known = [...methods.keys()]
      const hint =
        advice?.suggestName(name, [...known, ...HOOK_KINDS]) || `, it has ${known.join(', ')}`
      throw new HookError(`'${name}' is not a hookable method of ${label}${hint}`)
    })
  }
}

/** The groups whose hooks run before a method, or begin to. */
const EARLY_GROUPS: readonly HookGroup[] = ['before', 'around', 'short']

/** Returns the hooks of one registry that run before the method of this name only, or before `all`. */
export function listOwnEarlyHooks(registry: HookRegistry, name: string): readonly StoredHook[] {
  return EARLY_GROUPS.flatMap((group) => registry.get(group, name))
}

/** Returns the hooks that run before a method of a service, those of its application first. */
export function listEarlyHooks({ app, hooks }: HookOwners, method: string): readonly StoredHook[] {
  return [app.hookRegistry, hooks].flatMap((registry) =>
    ['all', method].flatMap((name) => listOwnEarlyHooks(registry, name)),
  )
}

/** Returns all hooks of a service, those of its application first. */
export function listServiceHooks({ app, hooks }: HookOwners): readonly StoredHook[] {
  return [app.hookRegistry, hooks].flatMap(({ stored }) => [...stored.values()].flat())
}

/** The owners of the hooks of a service's calls. */
interface HookOwners {
  readonly app: { readonly hookRegistry: HookRegistry }
  readonly hooks: HookRegistry
}

type Addition = readonly [key: string, hooks: StoredHook[]]

/** Whether a value is a hook, a list of hooks, or a map of such. */
function canHoldHooks(value: unknown): value is object {
  return typeof value === 'function' || isObject(value)
}

/** Whether hooks of a kind have this name. */
export function isHookType(name: string): name is HookType {
  return (HOOK_KINDS as readonly string[]).includes(name)
}
