import { copyExternalForms, setDispatch, toExternalForm } from '../../external-form.ts'
import { describeFunction } from '../../function-metadata.ts'
import { isObject, isPlainObject, isSingleValue } from '../../value-kind.ts'
import { setOwnProperty } from '../own-property.ts'
import { getDispatch } from './dispatch.ts'
import { whenReady } from './pending.ts'
import type { AnyResolver, AroundResolverHook, ResolverCall, Status } from './resolver-hook.ts'
import {
  checkAround,
  checkResolvers,
  forEachRecord,
  prepareResolvers,
  replaceRecords,
  toCall,
  toRecords,
} from './resolver-hook.ts'
import { readSelection } from './selection.ts'

/** The resolvers that have made what is seen of a record: none of them is run on it again. */
const APPLIED = new WeakMap<object, readonly unknown[]>()

/**
 * Returns an around hook that resolves what callers outside see of a result: `context.dispatch`. Calls
 * inside the process get the whole records, which look so wherever they end up in an answer.
 * @throws {BadRequest} in calls: property functions have failed
 */
export function resolveExternal<C>(...resolvers: readonly AnyResolver<C>[]): AroundResolverHook<C> {
  checkResolvers('resolveExternal', resolvers)
  return async (context: C, next: () => Promise<void>) => {
    checkAround('resolveExternal', next)
    const call = toCall(context)
    const { resolve } = call.params
    await next()
    const { result } = call
    if (!isObject(result) || isSingleValue(result)) return
    const toSeen = createExternal(resolvers, call, toStatus(call, resolve))
    const seen = await forEachRecord(toRecords(call), toSeen)
    const dispatch = replaceRecords(call, seen)
    call.dispatch = dispatch
    if (dispatch !== getDispatch(result)) setDispatch(result, dispatch)
  }
}

/**
 * A `resolveResult` inside has noted what is selected. Without one the query says it; the params may
 * have been handed on, with the properties of other records.
 */
function toStatus(call: ResolverCall, given: Status | undefined): Status {
  const { resolve, query } = call.params
  if (resolve !== undefined && resolve !== given) return resolve
  const properties = readSelection(query?.['$select'], call)
  return { originalContext: call, ...resolve, properties }
}

/** Returns the function that gives what is seen of a record, or a promise of it. */
function createExternal(
  resolvers: readonly unknown[],
  call: ResolverCall,
  status: Status,
): (record: unknown) => unknown {
  const run = prepareResolvers(resolvers, call, status)
  return (record) => {
    if (!isObject(record) || isSingleValue(record)) return record
    const existing = getDispatch(record)
    if (existing === null) {
      return whenReady(run(record), (resolved) => keepDispatch(record, resolved, resolvers))
    }
    const applied = isObject(existing) ? (APPLIED.get(existing) ?? []) : []
    const further = resolvers.filter((resolver) => !applied.includes(resolver))
    if (further.length === 0) return existing
    return whenReady(prepareResolvers(further, call, status)(existing), (resolved) =>
      keepDispatch(record, resolved, [...applied, ...further]),
    )
  }
}

function keepDispatch(record: object, resolved: unknown, applied: readonly unknown[]): unknown {
  const dispatch = toDispatch(resolved)
  if (isObject(dispatch)) {
    copyExternalForms(record, dispatch)
    APPLIED.set(dispatch, applied)
  }
  return setDispatch(record, dispatch)
}

/** A copy, in which records of other services are as they look outside. */
function toDispatch(resolved: unknown): unknown {
  if (!isPlainObject(resolved)) return resolved
  const dispatch: Record<string, unknown> = {}
  for (const name of Object.keys(resolved)) {
    setOwnProperty(dispatch, name, toExternalForm(resolved[name]))
  }
  return dispatch
}

/** The name of {@link resolveExternal} in earlier versions of Feathers. */
export const resolveDispatch: typeof resolveExternal = resolveExternal

describeFunction(resolveExternal, { hookFactory: 'resolveExternal(resolver)' })
