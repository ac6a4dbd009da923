import type { NameSuggestion } from '../options/option-rules.ts'
import { isObject, isPlainObject } from '../value-kind.ts'
import type { HookContext, HookType } from './hook-context.ts'

/**
 * A hook as it is stored, without the types of its service. Only around hooks are called with
 * `next`: many hooks written for Feathers look at it to know as which kind they run.
 */
export type StoredHook = (context: HookContext, next?: () => Promise<void>) => unknown

const HOOK_KINDS: readonly HookType[] = ['around', 'before', 'after', 'error']

/**
 * `short` are the around hooks of a service given as a list or map; they run outside of `around`.
 */
export type HookGroup = HookType | 'short'

/** What tells the author of hooks of mistakes in them. */
export interface RegistryAdvice {
  /** Returns `; did you mean 'name'?` for the name that a mistyped one is closest to, else `''`. */
  readonly suggestName: NameSuggestion
  /** Returns what a value is that is no hook, and how one is made of it, where that is known. */
  describeHook(value: unknown): string | undefined
}

interface HookRegistryOptions {
  /** How errors name the owner of the hooks. */
  readonly label: string
  /** The group of the hooks that are given without a kind. */
  readonly shortGroup: 'around' | 'short'
  /** Whether hooks can be registered for a method of this name. */
  readonly hasMethod: (name: string) => boolean
  /** The methods that an error names, for one that is not there. */
  readonly methodNames: () => Iterable<string>
  /** What tells of mistakes. Without it, errors are shorter. */
  readonly advice: RegistryAdvice | undefined
}

/** The hooks of one application or service, in the order in which they were registered. */
export class HookRegistry {
  readonly #hooks = new Map<string, StoredHook[]>()
  readonly #options: HookRegistryOptions

  constructor(options: HookRegistryOptions) {
    this.#options = options
  }

  /**
   * Adds hooks in any of the documented formats.
   * @throws {TypeError} an unknown kind or method name, or something that is no function
   */
  add(options: unknown): void {
    const additions = this.#read(options)
    for (const { key, hooks } of additions) {
      this.#hooks.set(key, [...(this.#hooks.get(key) ?? []), ...hooks])
    }
  }

  /** Returns the hooks of a group for one method name or `all`. */
  get(group: HookGroup, name: string): readonly StoredHook[] {
    return this.#hooks.get(toKey(group, name)) ?? []
  }

  /** How errors name the owner of the hooks. */
  get label(): string {
    return this.#options.label
  }

  /** Returns the around hooks of a method, outermost first. */
  getAround(method: string): readonly StoredHook[] {
    return [
      ...this.get('short', 'all'),
      ...this.get('short', method),
      ...this.get('around', 'all'),
      ...this.get('around', method),
    ]
  }

  /** Returns all hooks, by their group and the name of their method or `all`. */
  list(): { group: HookGroup; name: string; hooks: readonly StoredHook[] }[] {
    return [...this.#hooks].map(([key, hooks]) => {
      const [group, name] = key.split(' ') as [HookGroup, string]
      return { group, name, hooks }
    })
  }

  #read(options: unknown): { key: string; hooks: StoredHook[] }[] {
    const { label, shortGroup } = this.#options
    if (Array.isArray(options) || typeof options === 'function') {
      return [{ key: toKey(shortGroup, 'all'), hooks: this.#toHooks(options, 'around') }]
    }
    if (!isObject(options)) {
      throw new TypeError(`The hooks of ${label} must be an object or an array`)
    }
    const names = Object.keys(options)
    if (names.some((name) => isHookType(name))) {
      return names.flatMap((kind) => this.#readKind(kind, options[kind]))
    }
    return this.#readMap(shortGroup, options)
  }

  #readKind(kind: string, map: unknown): { key: string; hooks: StoredHook[] }[] {
    if (!isHookType(kind)) {
      const hint = this.#suggestKind(kind) || `, allowed are ${HOOK_KINDS.join(', ')}`
      throw new TypeError(`'${kind}' is not a valid hook type${hint}`)
    }
    if (Array.isArray(map) || typeof map === 'function') {
      return [{ key: toKey(kind, 'all'), hooks: this.#toHooks(map, kind) }]
    }
    if (!isObject(map)) {
      throw new TypeError(
        `The ${kind} hooks of ${this.#options.label} must be functions, a list or a map`,
      )
    }
    return this.#readMap(kind, map)
  }

  #readMap(group: HookGroup, map: Record<string, unknown>): { key: string; hooks: StoredHook[] }[] {
    return Object.entries(map).flatMap(([name, value]) => {
      if (isPlainObject(value)) throw this.#createMisplacedMap(group, name)
      const hooks = this.#toHooks(value, `${group} ${name}`)
      // An empty list says nothing about a method: generators write one for each standard method.
      if (hooks.length === 0) return []
      if (name !== 'all' && !this.#options.hasMethod(name)) throw this.#createUnknownMethod(name)
      return [{ key: toKey(group, name), hooks }]
    })
  }

  #toHooks(value: unknown, place: string): StoredHook[] {
    const hooks = Array.isArray(value) ? value : [value]
    for (const hook of hooks) {
      const fault = this.#options.advice?.describeHook(hook)
      if (fault === undefined && typeof hook === 'function') continue
      const kind = fault ?? `${typeof hook}, not a function`
      throw new TypeError(`A hook in '${place}' of ${this.#options.label} is ${kind}`)
    }
    return hooks
  }

  #createUnknownMethod(name: string): TypeError {
    const { label, methodNames, advice } = this.#options
    const known = [...methodNames()]
    const hint =
      advice?.suggestName(name, [...known, ...HOOK_KINDS]) || `, it has ${known.join(', ')}`
    return new TypeError(`'${name}' is not a hookable method of ${label}${hint}`)
  }

  #suggestKind(mistyped: string): string | undefined {
    return this.#options.advice?.suggestName(mistyped, HOOK_KINDS)
  }

  /** Methods stand inside of kinds, and hooks inside of methods. */
  #createMisplacedMap(group: HookGroup, name: string): TypeError {
    const place = group === 'short' ? name : `${group} ${name}`
    const hint = this.#suggestKind(name) || ': { before: { create: [hook] } } is the order'
    return new TypeError(
      `The hooks '${place}' of ${this.#options.label} are a map, not a list of functions${hint}`,
    )
  }
}

function toKey(group: HookGroup, name: string): string {
  return `${group} ${name}`
}

/** Whether hooks of a kind have this name. */
export function isHookType(name: string): name is HookType {
  return (HOOK_KINDS as readonly string[]).includes(name)
}
