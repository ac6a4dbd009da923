import type { ServiceError } from '../../errors/index.ts'
import { BadRequest, GeneralError, toServiceError } from '../../errors/index.ts'
import type { OptionRules } from '../../options/option-check.ts'
import { checkOptions, OPTION } from '../../options/option-check.ts'
import { hasMethod, isObject, isPromise, isSingleValue } from '../../value-kind.ts'
import { setOwnProperty } from '../plain-objects.ts'
import type {
  Awaitable,
  GivenStatus,
  PropertyResolver,
  PropertyResolverMap,
  ResolverStatus,
} from './property-resolver.ts'
import { IS_VIRTUAL, whenReady } from './property-resolver.ts'

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

type AnyFunction<T, C> = PropertyResolver<T, unknown, C>
/** The function of a property with its status, which is `null` if the function is running. */
interface Step<T, C> {
  readonly resolver: AnyFunction<T, C>
  readonly status: ResolverStatus<C> | null
}

/** Starts to resolve a record. */
type Start = (record: unknown) => unknown

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

/** Turns records into others, property by property: what {@link resolve} returns. */
export class Resolver<T, C> {
  /** Functions and options as they were given. */
  readonly options: ResolverConfig<T, C>
  /** The names of the properties that have a function. */
  readonly propertyNames: readonly (keyof T & string)[]
  /** Those of them that are {@link virtual}. */
  readonly virtualNames: readonly (keyof T & string)[]
  readonly #functions: ReadonlyMap<string, AnyFunction<T, C>>

  /** @throws {TypeError} a property whose resolver is no function, or `validate` without `schema` */
  constructor(options: ResolverConfig<T, C>) {
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
  prepare(context: C, status: GivenStatus<C> = {}): (record: unknown) => Awaitable<T> {
    const { converter, schema, validate } = this.options
    const steps = this.#toSteps(status)
    const startFields: Start = (record) =>
      this.#startFields(record, steps, context, status.properties)
    const startChecked = addCheck(startFields, schema, validate)
    const start: Start =
      converter === undefined
        ? startChecked
        : (record) => whenReady(converter(record, context, completeStatus(status)), startChecked)
    // A result may be nothing.
    return (record) => (record === undefined || record === null ? record : start(record)) as T
  }

  // Most results are lists: what is made for each record is as little as can be.
  #startFields(
    record: unknown,
    steps: ReadonlyMap<string, Step<T, C>>,
    context: C,
    selected: readonly string[] | undefined,
  ): unknown {
    const isUntouched = selected === undefined && steps.size === 0
    if (isUntouched || !isObject(record) || isSingleValue(record)) return record
    const names = selected ?? this.#namesOf(record)
    const started: Started = { names, values: new Array(names.length), failures: null }
    let pending: Promise<void>[] | null = null
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as string
      const step = steps.get(name)
      const value = readField(record, name)
      if (step === undefined) started.values[index] = value
      else if (step.status !== null) {
        try {
          const returned = step.resolver(value, record as T, context, step.status)
          if (isPromise(returned)) {
            pending ??= []
            pending.push(settle(started, index, returned))
          } else started.values[index] = returned
        } catch (error) {
          fail(started, index, error)
        }
      }
    }
    if (pending === null) return finish(started, context, selected)
    return Promise.all(pending).then(() => finish(started, context, selected))
  }

  #toSteps(status: GivenStatus<C>): ReadonlyMap<string, Step<T, C>> {
    const { path = [], stack = [] } = status
    const steps = new Map<string, Step<T, C>>()
    for (const [name, resolver] of this.#functions) {
      const isRunning = stack.includes(resolver)
      const own = { ...status, path: [...path, name], stack: [...stack, resolver] }
      steps.set(name, { resolver, status: isRunning ? null : own })
    }
    return steps
  }

  /** The names of the record first, as they stand there. */
  #namesOf(record: Fields): readonly string[] {
    const names = Object.keys(record)
    for (const name of this.propertyNames) if (!isEnumerable(record, name)) names.push(name)
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
  if (isConfig<T, C>(given)) {
    checkOptions('resolve()', given, CONFIG_RULES)
    return new Resolver(given)
  }
  checkOptions('resolve()', options, OPTION_RULES)
  return new Resolver({ ...options, properties: given })
}

/** A record may have a property of this name: its resolver is a function. */
function isConfig<T, C>(given: unknown): given is ResolverConfig<T, C> {
  return isObject(given) && isObject(given['properties'])
}

function readFunctions<T, C>(
  properties: PropertyResolverMap<T, C>,
): ReadonlyMap<string, AnyFunction<T, C>> {
  if (!isObject(properties)) throw new TypeError('resolve() takes an object of functions')
  const functions = Object.entries(properties).filter(([, resolver]) => resolver !== undefined)
  for (const [name, resolver] of functions) {
    if (typeof resolver === 'function') continue
    throw new TypeError(`resolve(): the resolver of the property '${name}' must be a function`)
  }
  return new Map(functions as [string, AnyFunction<T, C>][])
}

function addCheck(
  start: Start,
  schema: ResolverSchema | undefined,
  validate: ResolverOptions<unknown, unknown>['validate'],
): Start {
  if (schema === undefined || !validate) return start
  const check: Start = (record) => schema.validate(record)
  if (validate === 'before') return (record) => whenReady(check(record), start)
  return (record) => whenReady(start(record), check)
}

function completeStatus<C>(status: GivenStatus<C>): ResolverStatus<C> {
  const { path = [], stack = [] } = status
  return { ...status, path, stack }
}

function isEnumerable(record: object, name: string): boolean {
  return Object.prototype.propertyIsEnumerable.call(record, name)
}

/** A record by the names of its fields. */
export type Fields = Readonly<Record<string, unknown>>

/** A record whose fields are being resolved. */
export interface Started {
  readonly names: readonly string[]
  /** In the order of the names; `undefined` for those that are left out. */
  readonly values: unknown[]
  /** What property functions have thrown, by the names of their properties. */
  failures: Map<string, unknown> | null
}

/** The value of a field, but not what every object has: callers select names as they like. */
function readField(record: Fields, name: string): unknown {
  return name in Object.prototype && !Object.hasOwn(record, name) ? undefined : record[name]
}

/** Notes that a property function has failed; the others run on. */
export function fail(started: Started, index: number, error: unknown): void {
  started.failures ??= new Map()
  started.failures.set(started.names[index] as string, error)
}

/** Sets a value when its promise is fulfilled. The promise that is returned is never rejected. */
export async function settle(
  started: Started,
  index: number,
  value: PromiseLike<unknown>,
): Promise<void> {
  try {
    started.values[index] = await value
  } catch (error) {
    fail(started, index, error)
  }
}

/**
 * Returns the record of the values.
 * @throws {BadRequest} property functions have failed
 */
export function finish(
  { names, values, failures }: Started,
  context: unknown,
  selected: readonly string[] | undefined,
): Fields {
  if (failures !== null) throw createResolverError(failures, context, selected)
  const record: Record<string, unknown> = {}
  for (let index = 0; index < names.length; index += 1) {
    const value = values[index]
    if (value !== undefined) setOwnProperty(record, names[index] as string, value)
  }
  return record
}

/** What property functions have thrown, by the names of their properties. */
export type Failures = ReadonlyMap<string, unknown>

/** The part of an application that takes what no caller may see. */
interface LoggingContext {
  readonly app?: { readonly logger?: { error(details: object, message?: string): void } }
}

const MESSAGE = 'Error resolving data'

/**
 * Returns the error for properties that could not be resolved: its `data` has what a caller may see of
 * each failure, by name. What was thrown is the `cause`. A fault of the program is logged, because
 * errors below 500 are not.
 * @param selected the names that were resolved, where not all were
 */
function createResolverError(
  failures: Failures,
  context: unknown,
  selected: readonly PropertyKey[] | undefined,
): BadRequest {
  const errors = [...failures].map(([name, thrown]) => [name, toServiceError(thrown)] as const)
  const data = Object.fromEntries(
    errors.map(([name, error]) => [name, toData(error, failures.get(name))]),
  )
  const thrown = [...failures.values()]
  const cause = thrown.length === 1 ? thrown[0] : new AggregateError(thrown, MESSAGE)
  const names = selected === undefined ? '' : `  ${selected.map(String).join('.')}`
  const error = new BadRequest(`${MESSAGE}${names}`, null, { cause })
  if (errors.some(([, { code }]) => code >= 500)) logFault(context, error)
  // Not by the constructor, to which a key `errors` says something else than a property of this name.
  return Object.assign(error, { data })
}

/** An error of a service has more to tell than its message, and any other one no more than that. */
function toData(error: ServiceError, thrown: unknown): object {
  const isOther = error !== thrown && error instanceof GeneralError
  return isOther ? { message: error.message } : error.toJSON()
}

function logFault(context: unknown, err: BadRequest): void {
  if (isObject(context)) (context as LoggingContext).app?.logger?.error({ err }, MESSAGE)
}
