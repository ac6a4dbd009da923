import type { NextFunction } from '../../hooks/hook-map.ts'
import { hasMethod, isObject } from '../../value-kind.ts'
import type { GivenStatus } from './property-resolver.ts'
import { whenAllReady, whenReady } from './property-resolver.ts'

/** What the hooks take: a resolver of {@link resolve}, or one of `@feathersjs/schema`. */
export interface AnyResolver<C> {
  /** The names of the properties that are made of others. */
  readonly virtualNames: readonly PropertyKey[]
  /** Resolves to the resolved record. */
  readonly resolve: (record: unknown, context: C, status?: never) => Promise<unknown>
}

/** A before or around hook. */
export type ResolverHook<C> = (context: C, next?: NextFunction) => Promise<void> | undefined

/** An around hook. */
export type AroundResolverHook<C> = (context: C, next: NextFunction) => Promise<void>

/** What the hooks use of a context: contexts of Remex and those of Feathers have it. */
export interface ResolverCall {
  readonly type?: string | null
  readonly method: string
  readonly service?: object
  params: {
    readonly query?: Readonly<Record<string, unknown>> | undefined
    readonly provider?: string | undefined
    readonly resolve?: Status | undefined
  }
  data?: unknown
  result?: unknown
  dispatch?: unknown
}

/** The status of the resolvers of any records. */
export type Status = GivenStatus<unknown>

interface PreparedResolver {
  prepare(context: unknown, status: Status | undefined): (record: unknown) => unknown
  resolve(record: unknown, context: unknown, status: Status | undefined): unknown
}

/** @throws {TypeError} a resolver that is none: one that is missing would let everything pass */
export function checkResolvers(hook: string, resolvers: readonly unknown[]): void {
  for (const resolver of resolvers) {
    if (isObject(resolver) && hasMethod(resolver, 'resolve')) continue
    throw new TypeError(`${hook}() takes resolvers, as resolve() returns them`)
  }
}

/** Returns the context by what is used of it. The types of contexts are those of applications. */
export function toCall(context: unknown): ResolverCall {
  return context as ResolverCall
}

/** @throws {TypeError} the hook stands among after or error hooks: it would change nothing */
export function checkBefore(hook: string, { type }: ResolverCall): void {
  if (type !== 'after' && type !== 'error') return
  throw new TypeError(`The ${hook} hook must be used as a before or an around hook`)
}

/** @throws {TypeError} the hook stands among before, after or error hooks */
export function checkAround(hook: string, next: unknown): void {
  if (typeof next === 'function') return
  throw new TypeError(`The ${hook} hook must be used as an around hook`)
}

/**
 * Returns the function that gives what resolvers make of a record, one after the other, or a promise
 * of it. It is for the records of one call.
 */
export function prepareResolvers(
  resolvers: readonly unknown[],
  context: unknown,
  status: Status | undefined,
): (record: unknown) => unknown {
  const [first, ...others] = (resolvers as readonly PreparedResolver[]).map((resolver) =>
    hasMethod(resolver, 'prepare')
      ? resolver.prepare(context, status)
      : (record: unknown) => resolver.resolve(record, context, status),
  )
  if (first === undefined) return (record) => record
  return others.reduce((run, next) => (record) => whenReady(run(record), next), first)
}

/** Calls a function with a record, or with each of a list. Returns what it returns, or a promise. */
export function forEachRecord(records: unknown, run: (record: unknown) => unknown): unknown {
  return Array.isArray(records) ? whenAllReady(records.map(run)) : run(records)
}

/** A page of `find`. Elsewhere `data` is a field like any other. */
export function isPage(
  method: string,
  result: unknown,
): result is Readonly<Record<string, unknown>> & { readonly data: readonly unknown[] } {
  return method === 'find' && isObject(result) && Array.isArray(result['data'])
}

/** Returns a result with other records in the envelope that it has. */
export function replaceRecords({ method, result }: ResolverCall, records: unknown): unknown {
  return isPage(method, result) ? { ...result, data: records } : records
}

/** Returns the records of a result: those of a page, a list, or one. */
export function toRecords({ method, result }: ResolverCall): unknown {
  return isPage(method, result) ? result.data : result
}
