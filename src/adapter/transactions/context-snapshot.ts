import { copyExternalForms, readDispatch, setDispatch } from '../../core/external-form.ts'
import type { HookContext } from '../../core/hooks/hook-context.ts'
import { carryFacts } from '../../core/transport-facts.ts'
import { isPlainObject } from '../../core/value-kind.ts'

type Properties = Readonly<Record<string, unknown>>

/** What is copied with all that is in it. Other properties may hold what many calls share. */
const COPIED = { context: ['data', 'http'], params: ['query', 'pipeline'] }

/** What a context has at one moment, to be given back to it before a call is run again. */
export class ContextSnapshot {
  readonly #context: HookContext
  readonly #properties: Properties
  readonly #params: Properties

  constructor(context: HookContext) {
    this.#context = context
    this.#properties = copyProperties(context.toObject(), COPIED.context)
    this.#params = copyProperties(context.params, COPIED.params)
  }

  /**
   * Gives the context and its params the properties that they had, with copies of what was in `data`,
   * `http` and the query. Not in place: one object may be the data of several calls, and another of
   * them may be about to write what its hooks have set there.
   */
  restore(): void {
    const context = this.#context
    replaceProperties(context, copyProperties(this.#properties, COPIED.context))
    const { params: given } = context
    const params = copyProperties(this.#params, COPIED.params)
    // Those of a transport have a class, and are of one call alone.
    if (!isPlainObject(given)) replaceProperties(given, params)
    else {
      carryFacts(given, params)
      context.params = params
    }
  }
}

/** Returns the properties of an object, some of them as copies. */
function copyProperties(object: object, names: readonly string[]): Record<string, unknown> {
  const properties: Record<string, unknown> = { ...object }
  for (const name of names) {
    if (Object.hasOwn(properties, name)) properties[name] = copyDeep(properties[name])
  }
  return properties
}

/** Properties that are not enumerable stay: a snapshot has none of them. */
function replaceProperties(object: object, properties: Properties): void {
  for (const name of Reflect.ownKeys(object)) {
    const isEnumerable = Object.prototype.propertyIsEnumerable.call(object, name)
    if (isEnumerable && !Object.hasOwn(properties, name)) Reflect.deleteProperty(object, name)
  }
  Object.assign(object, properties)
}

/**
 * Returns a copy of the plain objects, lists and dates in a value. Instances of other classes stay the
 * same: only they know what they are made of.
 */
function copyDeep(value: unknown): unknown {
  const copies = new Map<unknown, object>()
  const copyOf = (one: unknown): unknown => {
    const copy = copies.get(one) ?? copyShallow(one)
    if (copy !== undefined) copies.set(one, copy)
    return copy ?? one
  }
  const result = copyOf(value)
  // With those that are added meanwhile. A walk into the depth would end where the stack does.
  for (const copy of copies.values()) {
    const properties = copy as Record<string, unknown>
    for (const name of Object.keys(copy)) properties[name] = copyOf(properties[name])
  }
  return result
}

/** Returns a copy with the same values in it, `undefined` for what is not copied. */
function copyShallow(value: unknown): object | undefined {
  if (value instanceof Date) return new Date(value.getTime())
  if (!Array.isArray(value) && !isPlainObject(value)) return undefined
  const copy = Array.isArray(value) ? [...value] : { ...value }
  copyExternalForms(value, copy)
  const dispatch = readDispatch(value)
  if (dispatch !== undefined) setDispatch(copy, dispatch)
  return copy
}
