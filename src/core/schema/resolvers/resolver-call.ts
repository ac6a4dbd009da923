import { HookError, SchemaError } from '../../errors/setup-errors.ts'
import { nameFunction } from '../../function-metadata.ts'
import type { NextFunction } from '../../hooks/hook-map.ts'
import { isPage } from '../../results.ts'
import { hasMethod, isObject, isPromise } from '../../value-kind.ts'
import type { GivenStatus } from './resolver.ts'
import { chain, whenReady } from './resolver.ts'

/** What the hooks accept: a resolver of {@link resolve}, or one of `@feathersjs/schema`. */
export interface AnyResolver<C> {
  /** The names of the computed properties. */
  readonly virtualNames: readonly PropertyKey[]
  /** Resolves to the resolved record. */
  readonly resolve: (record: unknown, context: C, status?: never) => Promise<unknown>
}

/** A before or around hook. */
export type ResolverHook<C> = (context: C, next?: NextFunction) => Promise<void> | undefined

/** An around hook. */
export type AroundResolverHook<C> = (context: C, next: NextFunction) => Promise<void>

/** The status of the resolvers of any records. */
export type Status = GivenStatus<unknown>

/** The part of a context that the hooks use. Remex's and Feathers's contexts have it. */
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

/** @param work runs before the method of a call. Returns a promise if it has to wait */
export function createBeforeHook<C>(
  name: string,
  resolvers: readonly unknown[],
  work: (call: ResolverCall) => unknown,
): ResolverHook<C> {
  checkResolvers(name, resolvers)
  const hook: ResolverHook<C> = (context, next) => {
    // The types of contexts are those of applications.
    const call = context as ResolverCall
    if (call.type === 'after' || call.type === 'error') {
      throw new HookError(`The ${name} hook must be used as a before or an around hook`)
    }
    return whenReady(work(call), () => next?.()) as Promise<void> | undefined
  }
  return nameFunction(name, hook)
}

/** @param work runs before the method of a call. Returns a function that runs on the result */
export function createAroundHook<C>(
  name: string,
  resolvers: readonly unknown[],
  work: (call: ResolverCall) => (result: object) => Promise<void>,
): AroundResolverHook<C> {
  checkResolvers(name, resolvers)
  const hook: AroundResolverHook<C> = async (context, next) => {
    if (typeof next !== 'function') {
      throw new HookError(`The ${name} hook must be used as an around hook`)
    }
    const call = context as ResolverCall
    const finish = work(call)
    await next()
    if (isObject(call.result)) await finish(call.result)
  }
  return nameFunction(name, hook)
}

/** @throws {TypeError} a value is not a resolver: a missing one would let everything pass */
function checkResolvers(hook: string, resolvers: readonly unknown[]): void {
  for (const resolver of resolvers) {
    if (isObject(resolver) && hasMethod(resolver, 'resolve')) continue
    throw new SchemaError(`${hook}() takes resolvers, as resolve() returns them`)
  }
}

interface PreparedResolver {
  readonly virtualNames?: readonly PropertyKey[]
  prepare(context: unknown, status: Status | undefined): (record: unknown) => unknown
  resolve(record: unknown, context: unknown, status: Status | undefined): unknown
}

/**
 * Returns a function that runs resolvers on a record of one call, one after the other, and returns the result
 * or a promise of it. If a later resolver computes a selected virtual property, earlier ones keep all
 * properties for it.
 */
export function prepareResolvers(
  resolvers: readonly unknown[],
  context: unknown,
  status: Status | undefined,
): (record: unknown) => unknown {
  const all = resolvers as readonly PreparedResolver[]
  const isSelected = (name: PropertyKey) => status?.properties?.includes(String(name)) ?? false
  const lastSelecting = all.findLastIndex(({ virtualNames }) => virtualNames?.some(isSelected))
  return chain(
    all.map((resolver, index) => {
      const own = index < lastSelecting ? { ...status, properties: undefined } : status
      return hasMethod(resolver, 'prepare')
        ? resolver.prepare(context, own)
        : (record: unknown) => resolver.resolve(record, context, own)
    }),
  )
}

/** Calls a function with a record, or with each record of a list. Returns the result, or a promise. */
export function forEachRecord(records: unknown, run: (record: unknown) => unknown): unknown {
  if (!Array.isArray(records)) return run(records)
  const values = records.map(run)
  return values.some(isPromise) ? Promise.all(values) : values
}

/** Resolves to a result with its records mapped by a function: those of a page, a list, or one. */
export async function mapRecords(
  { method, result }: ResolverCall,
  run: (record: unknown) => unknown,
): Promise<unknown> {
  if (!isPage(method, result)) return forEachRecord(result, run)
  return { ...result, data: await forEachRecord(result.data, run) }
}
