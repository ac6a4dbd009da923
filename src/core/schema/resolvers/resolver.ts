import type { OptionRules } from '../../options/option-check.ts'
import { checkOptions, OPTION } from '../../options/option-check.ts'
import { hasMethod, isObject, isPromise, isSingleValue } from '../../value-kind.ts'
import { Failure, settle, toResolvedRecord } from './resolved-record.ts'

/** What a function returns at once, or a promise of it. */
type Awaitable<V> = V | Promise<V>

/** Where a property function runs: handed to it as the last argument. */
export interface ResolverStatus<C> {
  /** The names of the properties from the outermost record down to this one. */
  readonly path: readonly string[]
  /** The context of the outermost call. */
  readonly originalContext?: C | undefined
  /** The names that are resolved, where not all are. */
  readonly properties?: readonly string[] | undefined
  /**
   * The functions that are running, outermost first. One that is among them is not run again: hand
   * the status on as `params.resolve`, and a circle of services ends.
   */
  readonly stack: readonly unknown[]
}

/** The parts of a status that a caller knows. */
export type GivenStatus<C> = Partial<ResolverStatus<C>>

/** Marks the functions of {@link virtual}; those of `@feathersjs/schema` have the same mark. */
const IS_VIRTUAL: unique symbol = Symbol.for('@feathersjs/schema/virtual') as never

/** What a function returns for a property: `undefined` leaves the property out. */
type Resolved<V> = Awaitable<V | undefined>

/** The function of one property: `Value` is what it gets, `V` what it returns. */
export interface PropertyFunction<T, Value, V, C> {
  /** Returns the value of the property, by the one that it has and the record as it was given. */
  (value: Value, record: T, context: C, status: ResolverStatus<C>): Resolved<V>
  /** Whether it is one of {@link virtual}. */
  readonly [IS_VIRTUAL]?: boolean
}

/** The function of a property that may be there: it gets and returns its value. */
export type PropertyResolver<T, V, C> = PropertyFunction<T, V | undefined, V, C>

/** Returns the value of a property that is made of others. */
export type VirtualResolver<T, V, C> = (
  record: T,
  context: C,
  status: ResolverStatus<C>,
) => Resolved<V>

/** Functions by the names of the properties that they resolve. */
export type PropertyResolverMap<T, C> = {
  readonly [Name in keyof T]?: PropertyFunction<T, T[Name] | undefined, T[Name], C> | undefined
}

/**
 * Returns the function of a property that is not stored: who selects it gets it, though the database
 * does not have it.
 */
export function virtual<T, V, C>(
  resolver: VirtualResolver<T, V, C>,
): PropertyFunction<T, unknown, V, C> {
  if (typeof resolver !== 'function') throw new TypeError('virtual() takes a function')
  const ofProperty: PropertyFunction<T, unknown, V, C> = (_value, record, context, status) =>
    resolver(record, context, status)
  return Object.defineProperty(ofProperty, IS_VIRTUAL, { value: true })
}

/** One of several functions, each of which gets what the one before has made of a record. */
type Step = (record: unknown) => unknown

/** Returns a function that calls several, each with what the one before returns or promises. */
export function chain([first, ...others]: readonly Step[]): Step {
  if (first === undefined) return (record) => record
  return others.reduce((run, next) => (record) => whenReady(run(record), next), first)
}

/** Calls a function with a value: at once, or when the promise of the value is fulfilled. */
export function whenReady<R>(value: unknown, next: (value: unknown) => R): R | Promise<Awaited<R>> {
  if (!isPromise(value)) return next(value)
  return Promise.resolve(value).then(next) as Promise<Awaited<R>>
}

/** What checks records: an object of `schema()` of `@feathersjs/schema`, for example. */
export interface ResolverSchema {
  /** Returns the record, converted, or a promise of it. */
  validate(record: unknown): unknown
}

/** Options of {@link resolve} beside the functions. */
export interface ResolverOptions<T, C> {
  /** Returns the record that the functions get. Default: the one that is given. */
  readonly converter?: (
    // biome-ignore lint/suspicious/noExplicitAny: what is converted has another type than the record
    record: any,
    context: C,
    status: ResolverStatus<C>,
  ) => Awaitable<T | undefined>
  /** What `validate` checks with. Default: nothing is checked. */
  readonly schema?: ResolverSchema
  /** Whether `schema` checks a record before the functions run, or after. Default: `false`, never. */
  readonly validate?: 'before' | 'after' | false
}

/** Functions and options in one object. */
export interface ResolverConfig<T, C> extends ResolverOptions<T, C> {
  /** The functions by the names of their properties. */
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

/** Calls the function of a property; `null` if that is running. */
type PropertyStep = ((value: unknown, record: unknown) => unknown) | null

/** Turns records into others, property by property: what {@link resolve} returns. */
export class Resolver<T, C> {
  /** Functions and options as they were given. */
  readonly options: ResolverConfig<T, C>
  /** The names of the properties that have a function. */
  readonly propertyNames: readonly (keyof T & string)[]
  /** Those of them that are {@link virtual}. */
  readonly virtualNames: readonly (keyof T & string)[]
  readonly #functions: ReadonlyMap<string, PropertyResolver<T, unknown, C>>

  /** @throws {TypeError} for what {@link resolve} refuses */
  constructor(options: ResolverConfig<T, C>) {
    checkOptions('resolve()', options, CONFIG_RULES)
    if (options.validate && options.schema === undefined) {
      throw new TypeError(
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
   * Resolves to the record with the values that the functions return. All of them get the record
   * as it was given. What is no object stays as it is.
   * @throws {BadRequest} functions have failed: `data` has their errors by the names of the properties
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
    // A result may be nothing.
    return (record) => (record === undefined || record === null ? record : run(record)) as T
  }

  // Most results are lists: what is made for each record is as little as can be.
  #resolveFields(
    record: unknown,
    steps: ReadonlyMap<string, PropertyStep>,
    context: C,
    selected: readonly string[] | undefined,
  ): unknown {
    const isUntouched = selected === undefined && steps.size === 0
    if (isUntouched || !isObject(record) || isSingleValue(record)) return record
    const names = selected ?? this.#namesOf(record)
    // In the order of the names; `undefined` for those that are left out.
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

  /** The names of the record first, as they stand there. */
  #namesOf(record: Fields): readonly string[] {
    const names = Object.keys(record)
    const { propertyIsEnumerable: isEnumerable } = Object.prototype
    for (const name of this.propertyNames) if (!isEnumerable.call(record, name)) names.push(name)
    return names
  }
}

// One signature for calls that name the type of the record: of several, the compiler would report the mistakes
// of the last one, and look at functions in the light of the first.

/**
 * Returns a resolver of records, by functions for those properties that change. A function gets the
 * value, the whole record, the context and the status of the resolver; `undefined` leaves the
 * property out. Functions and options may stand in one object as well, `{ properties, converter }`.
 * @throws {TypeError} an unknown option, `validate` without `schema`, or a property whose resolver is no
 *   function
 */
export function resolve<T, C>(
  properties: PropertyResolverMap<T, C> | ResolverConfig<T, C>,
  options?: ResolverOptions<T, C>,
): Resolver<T, C>
/** Returns a resolver of any records. */
export function resolve<C>(config: ResolverConfig<Fields, C>): Resolver<Fields, C>
export function resolve<T, C>(
  given: PropertyResolverMap<T, C> | ResolverConfig<T, C>,
  options: ResolverOptions<T, C> = {},
): Resolver<T, C> {
  if (isConfig<T, C>(given)) return new Resolver(given)
  checkOptions('resolve()', options, OPTION_RULES)
  return new Resolver({ ...options, properties: given })
}

/** A record may have a property of this name: its resolver is a function. */
function isConfig<T, C>(given: unknown): given is ResolverConfig<T, C> {
  return isObject(given) && isObject(given['properties'])
}

function readFunctions<T, C>(
  properties: PropertyResolverMap<T, C>,
): ReadonlyMap<string, PropertyResolver<T, unknown, C>> {
  if (!isObject(properties)) throw new TypeError('resolve() takes an object of functions')
  const functions = Object.entries(properties).filter(([, resolver]) => resolver !== undefined)
  for (const [name, resolver] of functions) {
    if (typeof resolver === 'function') continue
    throw new TypeError(`resolve(): the resolver of the property '${name}' must be a function`)
  }
  return new Map(functions as [string, PropertyResolver<T, unknown, C>][])
}

/** A record by the names of its fields. */
type Fields = Readonly<Record<string, unknown>>

/** The value of a field, but not what every object has: callers select names as they like. */
function readField(record: Fields, name: string): unknown {
  return name in Object.prototype && !Object.hasOwn(record, name) ? undefined : record[name]
}
