import { describeFunction } from '../../function-metadata.ts'
import { isPromise } from '../../value-kind.ts'
import type { AnyResolver, ResolverCall, ResolverHook } from './resolver-hook.ts'
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
  return (context: C, next?: () => Promise<void>) => {
    const call = toCall(context)
    checkBefore('resolveData', call)
    if (call.data === undefined) return next?.()
    const run = prepareResolvers(resolvers, call, { originalContext: call })
    const data = forEachRecord(call.data, run)
    if (isPromise(data)) return setLater(call, data, next)
    call.data = data
    return next?.()
  }
}

async function setLater(
  call: ResolverCall,
  data: PromiseLike<unknown>,
  next: (() => Promise<void>) | undefined,
): Promise<void> {
  call.data = await data
  await next?.()
}

describeFunction(resolveData, { hookFactory: 'resolveData(resolver)' })
