import { isPromise } from '../../value-kind.ts'

/** What a function returns at once, or a promise of it. */
export type Awaitable<V> = V | Promise<V>

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
export const IS_VIRTUAL: unique symbol = Symbol.for('@feathersjs/schema/virtual') as never

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

/** Calls a function with a value: at once, or when the promise of the value is fulfilled. */
export function whenReady<R>(value: unknown, next: (value: unknown) => R): R | Promise<Awaited<R>> {
  if (!isPromise(value)) return next(value)
  return Promise.resolve(value).then(next) as Promise<Awaited<R>>
}

/** Returns the values, or a promise of them if one of them is a promise. */
export function whenAllReady(values: readonly unknown[]): readonly unknown[] | Promise<unknown[]> {
  return values.some(isPromise) ? Promise.all(values) : values
}
