import { copyExternalForms, setDispatch, toExternalForm } from '../../external-form.ts'
import { leaveQuery } from '../../query-conversion.ts'
import { isObject, isPlainObject, isSingleValue } from '../../value-kind.ts'
import { getDispatch } from './dispatch.ts'
import { whenReady } from './pending.ts'
import type { AnyResolver, AroundResolverHook, ResolverCall, Status } from './resolver-hook.ts'
import {
  checkAround,
  checkResolvers,
  forEachRecord,
  replaceRecords,
  runResolvers,
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
  return leaveQuery(async (context: C, next: () => Promise<void>) => {
    checkAround('resolveExternal', next)
    const call = toCall(context)
    const { resolve } = call.params
    await next()
    const { result } = call
    if (!isObject(result) || isSingleValue(result)) return
    const status = toStatus(call, resolve)
    const seen = await forEachRecord(toRecords(call), (record) =>
      startRecord(resolvers, record, call, status),
    )
    const dispatch = replaceRecords(call, seen)
    call.dispatch = dispatch
    if (dispatch !== getDispatch(result)) setDispatch(result, dispatch)
  })
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

/** Returns what is seen of one record, or a promise of it. */
function startRecord(
  resolvers: readonly unknown[],
  record: unknown,
  call: ResolverCall,
  status: Status,
): unknown {
  if (!isObject(record) || isSingleValue(record)) return record
  const existing = getDispatch(record)
  const applied = isObject(existing) ? (APPLIED.get(existing) ?? []) : []
  const further = resolvers.filter((resolver) => !applied.includes(resolver))
  if (existing !== null && further.length === 0) return existing
  return whenReady(runResolvers(further, existing ?? record, call, status), (resolved) => {
    const dispatch = toDispatch(resolved)
    if (isObject(dispatch)) {
      copyExternalForms(record, dispatch)
      APPLIED.set(dispatch, [...applied, ...further])
    }
    return setDispatch(record, dispatch)
  })
}

/** A copy, in which records of other services are as they look outside. */
function toDispatch(resolved: unknown): unknown {
  if (!isPlainObject(resolved)) return resolved
  const fields = Object.entries(resolved).map(([name, value]) => [name, toExternalForm(value)])
  return Object.fromEntries(fields)
}

/** The name of {@link resolveExternal} in earlier versions of Feathers. */
export const resolveDispatch: typeof resolveExternal = resolveExternal
