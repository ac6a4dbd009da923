import { describeFunction } from '../../function-metadata.ts'
import { whenReady } from './property-resolver.ts'
import type { AnyResolver, ResolverHook } from './resolver-hook.ts'
import {
  checkBefore,
  checkResolvers,
  forEachRecord,
  prepareResolvers,
  toCall,
} from './resolver-hook.ts'

/**
 * Returns a before or around hook that resolves the data of a call, item by item where it is a list.
 * @throws {BadRequest} in calls: property functions have failed
 */
export function resolveData<C>(...resolvers: readonly AnyResolver<C>[]): ResolverHook<C> {
  checkResolvers('resolveData', resolvers)
  return (context, next) => {
    const call = toCall(context)
    checkBefore('resolveData', call)
    if (call.data === undefined) return next?.()
    const run = prepareResolvers(resolvers, call, { originalContext: call })
    return whenReady(forEachRecord(call.data, run), (data) => {
      call.data = data
      return next?.()
    })
  }
}

/**
 * Returns a before or around hook that resolves the query of a call, `{}` where there is none. It sees
 * the top of the query: conditions in `$or` and `$and` are values of those two.
 * @throws {BadRequest} in calls: property functions have failed
 */
export function resolveQuery<C>(...resolvers: readonly AnyResolver<C>[]): ResolverHook<C> {
  checkResolvers('resolveQuery', resolvers)
  return (context, next) => {
    const call = toCall(context)
    checkBefore('resolveQuery', call)
    const resolved = prepareResolvers(resolvers, call, undefined)(call.params.query ?? {})
    return whenReady(resolved, (query) => {
      // In a copy: the params may be those of the caller.
      call.params = { ...call.params, query: query as Readonly<Record<string, unknown>> }
      return next?.()
    })
  }
}

describeFunction(resolveData, { hookFactory: 'resolveData(resolver)' })
describeFunction(resolveQuery, { hookFactory: 'resolveQuery(resolver)' })
