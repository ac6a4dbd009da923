import { SchemaError } from '../../errors/setup-errors.ts'
import type { OptionRules } from '../../options/option-check.ts'
import { checkOptions, OPTION } from '../../options/option-check.ts'
import { hasMethod, isObject, isPromise, isSingleValue } from '../../value-kind.ts'
import { Failure, settle, toResolvedRecord } from './resolved-record.ts'

/** A value, or a promise of it. */
type Awaitable<V> = V | Promise<V>

/** Where a property function runs: its last argument. */
export interface ResolverStatus<C> {
  /** The names of the properties from the outermost record down to this one. */
  readonly path: readonly string[]
  /** The context of the outermost call. */
  readonly originalContext?: C | undefined
  /** The resolved names, if not all. */
  readonly properties?: readonly string[] | undefined
  /**
   * The running functions, outermost first. None of them runs again: pass the status on as `params.resolve`
   * to end a cycle of services.
   */
  readonly stack: readonly unknown[]
}

/** The parts of a status that a caller knows. */
export type GivenStatus<C> = Partial<ResolverStatus<C>>

/** Marks the functions of {@link virtual}; those of `@feathersjs/schema` have the same mark. */
const IS_VIRTUAL: unique symbol = Symbol.for('@feathersjs/schema/virtual') as never

/** What a function returns for a property: `undefined` omits the property. */
type Resolved<V> = Awaitable<V | undefined>

/** The function of one property: gets a `Value`, returns a `V`. */
export interface PropertyFunction<T, Value, V, C> {
  /** Returns the new value of the property, from the current one and the given record. */
  (value: Value, record: T, context: C, status: ResolverStatus<C>): Resolved<V>
  /** Whether it is one of {@link virtual}. */
  readonly [IS_VIRTUAL]?: boolean
}

/** The function of an optional property: it gets and returns its value. */
export type PropertyResolver<T, V, C> = PropertyFunction<T, V | undefined, V, C>

/** Returns the value of a computed property. */
export type VirtualResolver<T, V, C> = (
  record: T,
  context: C,
  status: ResolverStatus<C>,
) => Resolved<V>

/** Functions by the name of the property that they resolve. */
export type PropertyResolverMap<T, C> = {
  readonly [Name in keyof T]?: PropertyFunction<T, T[Name] | undefined, T[Name], C> | undefined
}

/**
 * Returns the function of a property that is not stored: it can be selected, although the database does not
 * have it.
 */
export function virtual<T, V, C>(
  resolver: VirtualResolver<T, V, C>,
): PropertyFunction<T, unknown, V, C> {
  if (typeof resolver !== 'function') throw new SchemaError('virtual() takes a function')
  const ofProperty: PropertyFunction<T, unknown, V, C> = (_value, record, context, status) =>
    resolver(record, context, status)
  return Object.defineProperty(ofProperty, IS_VIRTUAL, { value: true })
}

/** One of several functions. Each gets the result of the one before. */
type Step = (record: unknown) => unknown

/** Returns a function that calls several, each with the result of the one before, awaited. */
export function chain([first, ...others]: readonly Step[]): Step {
  if (first === undefined) return (record) => record
  return others.reduce((run, next) => (record) => whenReady(run(record), next), first)
}

/** Calls a function with a value: at once, or when the promise of the value is fulfilled. */
export function whenReady<R>(value: unknown, next: (value: unknown) => R): R | Promise<Awaited<R>> {
  if (!isPromise(value)) return next(value)
  return Promise.resolve(value).then(next) as Promise<Awaited<R>>
}

/** Checks records: an object of `schema()` of `@feathersjs/schema`, for example. */
export interface ResolverSchema {
  /** Returns the record, converted, or a promise of it. */
  validate(record: unknown): unknown
}

/** Options of {@link resolve}, other than the functions. */
export interface ResolverOptions<T, C> {
  /** Returns the record that the functions get. Default: the given one. */
  readonly converter?: (
    // biome-ignore lint/suspicious/noExplicitAny: what is converted has another type than the record
    record: any,
    context: C,
    status: ResolverStatus<C>,
  ) => Awaitable<T | undefined>
  /** The schema for `validate`. Default: no check. */
  readonly schema?: ResolverSchema
  /** Whether `schema` checks a record before the functions run, or after. Default: `false`, never. */
  readonly validate?: 'before' | 'after' | false
}

/** Functions and options in one object. */
export interface ResolverConfig<T, C> extends ResolverOptions<T, C> {
  /** The functions by property name. */
  readonly properties: PropertyResolverMap<T, C>
}

const OPTION_RULES: OptionRules = {
  converter: OPTION.function,
  schema: {
    expected: 'an object with a function validate',
    isValid: (value) => isObject(value) && hasMethod(value, 'validate'),
  },
  validate: {
    expected: "'before', 'after' or false",
    isValid: (value) => value === 'before' || value === 'after' || value === false,
  },
}
const CONFIG_RULES: OptionRules = { ...OPTION_RULES, properties: OPTION.object }

/** Calls the function of a property; `null` if it is already running. */
type PropertyStep = ((value: unknown, record: unknown) => unknown) | null

/** Turns records into others, property by property. Returned by {@link resolve}. */
export class Resolver<T, C> {
  /** The given functions and options. */
  readonly options: ResolverConfig<T, C>
  /** The names of the properties that have a function. */
  readonly propertyNames: readonly (keyof T & string)[]
  /** Those of them that are {@link virtual}. */
  readonly virtualNames: readonly (keyof T & string)[]
  readonly #functions: ReadonlyMap<string, PropertyResolver<T, unknown, C>>

  /** @throws {TypeError} as {@link resolve} */
  constructor(options: ResolverConfig<T, C>) {
    checkOptions('resolve()', options, CONFIG_RULES)
    if (options.validate && options.schema === undefined) {
      throw new SchemaError(
        "resolve(): the option 'validate' needs the option 'schema' to check with",
      )
    }
    this.options = options
    this.#functions = readFunctions(options.properties)
    this.propertyNames = [...this.#functions.keys()] as (keyof T & string)[]
    this.virtualNames = this.propertyNames.filter(
      (name) => this.#functions.get(name)?.[IS_VIRTUAL] === true,
    )
  }

  /**
   * Resolves to the record with the values that the functions return. All of them get the record as given. A
   * value that is not an object stays as it is.
   * @throws {BadRequest} functions have failed: `data` has their errors by property name
   */
  async resolve(record: unknown, context: C, status?: GivenStatus<C>): Promise<T> {
    return this.start(record, context, status)
  }

  /** Returns what {@link Resolver.resolve} resolves to, or a promise of it if a function returns one. */
  start(record: unknown, context: C, status?: GivenStatus<C>): Awaitable<T> {
    return this.prepare(context, status)(record)
  }

  /** Returns {@link Resolver.start} for the records of one call. */
  prepare(context: C, given: GivenStatus<C> = {}): (record: unknown) => Awaitable<T> {
    const { converter, schema, validate } = this.options
    const { path = [], stack = [] } = given
    const status: ResolverStatus<C> = { ...given, path, stack }
    const steps = new Map<string, PropertyStep>()
    for (const [name, resolver] of this.#functions) {
      const own = { ...status, path: [...path, name], stack: [...stack, resolver] }
      const call: PropertyStep = (value, record) => resolver(value, record as T, context, own)
      steps.set(name, stack.includes(resolver) ? null : call)
    }
    const check: Step = (record) => schema?.validate(record)
    const run = chain([
      ...(converter === undefined ? [] : [(raw: unknown) => converter(raw, context, status)]),
      ...(validate === 'before' ? [check] : []),
      (record) => this.#resolveFields(record, steps, context, status.properties),
      ...(validate === 'after' ? [check] : []),
    ])
    // A result may be empty.
    return (record) => (record === undefined || record === null ? record : run(record)) as T
  }

  // Most results are lists, so as little as possible is created per record.
  #resolveFields(
    record: unknown,
    steps: ReadonlyMap<string, PropertyStep>,
    context: C,
    selected: readonly string[] | undefined,
  ): unknown {
    const isUntouched = selected === undefined && steps.size === 0
    if (isUntouched || !isObject(record) || isSingleValue(record)) return record
    const names = selected ?? this.#namesOf(record)
    // In the order of the names; `undefined` for omitted ones.
    const values = new Array<unknown>(names.length)
    let pending: Promise<void>[] | null = null
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as string
      const step = steps.get(name)
      const value = readField(record, name)
      if (step === undefined) values[index] = value
      else if (step !== null) {
        try {
          const returned = step(value, record)
          values[index] = returned
          if (isPromise(returned)) {
            pending ??= []
            pending.push(settle(values, index))
          }
        } catch (error) {
          values[index] = new Failure(error)
        }
      }
    }
    if (pending === null) return toResolvedRecord(names, values, context, selected)
    return Promise.all(pending).then(() => toResolvedRecord(names, values, context, selected))
  }

  /** The names of the record first, in its order. */
  #namesOf(record: Fields): readonly string[] {
    const names = Object.keys(record)
    const { propertyIsEnumerable: isEnumerable } = Object.prototype
    for (const name of this.propertyNames) if (!isEnumerable.call(record, name)) names.push(name)
    return names
  }
}

// A single signature for calls that name the type of the record: with several, the compiler would report
// errors of the last one, and infer functions by the first.

/**
 * Returns a resolver of records, with functions for the properties that change. A function gets the value,
 * the whole record, the context and the status of the resolver; returning `undefined` omits the property.
 * Functions and options may also be in one object, `{ properties, converter }`.
 * @throws {TypeError} an unknown option, `validate` without `schema`, or a property resolver that is not a
 *   function
 */
export function resolve<T, C>(
  properties: PropertyResolverMap<T, C> | ResolverConfig<T, C>,
  options?: ResolverOptions<T, C>,
): Resolver<T, C>
/** Returns a resolver for any records. */
export function resolve<C>(config: ResolverConfig<Fields, C>): Resolver<Fields, C>
export function resolve<T, C>(
  given: PropertyResolverMap<T, C> | ResolverConfig<T, C>,
  options: ResolverOptions<T, C> = {},
): Resolver<T, C> {
  if (isConfig<T, C>(given)) return new Resolver(given)
  checkOptions('resolve()', options, OPTION_RULES)
  return new Resolver({ ...options, properties: given })
}

/** A record may have a property `properties`: its resolver is a function. */
function isConfig<T, C>(given: unknown): given is ResolverConfig<T, C> {
  return isObject(given) && isObject(given['properties'])
}

function readFunctions<T, C>(
  properties: PropertyResolverMap<T, C>,
): ReadonlyMap<string, PropertyResolver<T, unknown, C>> {
  if (!isObject(properties)) throw new SchemaError('resolve() takes an object of functions')
  const functions = Object.entries(properties).filter(([, resolver]) => resolver !== undefined)
  for (const [name, resolver] of functions) {
    if (typeof resolver === 'function') continue
    throw new SchemaError(`resolve(): the resolver of the property '${name}' must be a function`)
  }
  return new Map(functions as [string, PropertyResolver<T, unknown, C>][])
}

/** A record by the names of its fields. */
type Fields = Readonly<Record<string, unknown>>

/** Returns an own field, not members that every object has: callers may select any name. */
function readField(record: Fields, name: string): unknown {
  return name in Object.prototype && !Object.hasOwn(record, name) ? undefined : record[name]
}
