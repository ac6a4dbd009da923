import { describeFunction } from '../../function-metadata.ts'
import { isPromise } from '../../value-kind.ts'
import type { AnyResolver, ResolverCall, ResolverHook } from './resolver-hook.ts'
import { checkBefore, checkResolvers, prepareResolvers, toCall } from './resolver-hook.ts'

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
    const query = prepareResolvers(resolvers, call, undefined)(call.params.query ?? {})
    if (isPromise(query)) return setLater(call, query, next)
    setQuery(call, query)
    return next?.()
  }
}

async function setLater(
  call: ResolverCall,
  query: PromiseLike<unknown>,
  next: (() => Promise<void>) | undefined,
): Promise<void> {
  setQuery(call, await query)
  await next?.()
}

/** In a copy: the params may be those of the caller. */
function setQuery(call: ResolverCall, query: unknown): void {
  call.params = { ...call.params, query: query as Readonly<Record<string, unknown>> }
}

describeFunction(resolveQuery, { hookFactory: 'resolveQuery(resolver)' })
