import { BadRequest } from '../../errors/index.ts'
import {
  copyExternalForms,
  readDispatch,
  setDispatch,
  toExternalForm,
} from '../../external-form.ts'
import { describeFunction } from '../../function-metadata.ts'
import { isObject, isPlainObject, isSingleValue } from '../../value-kind.ts'
import { setOwnProperty } from '../plain-objects.ts'
import { whenReady } from './property-resolver.ts'
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
import {
  findWithheld,
  readNames,
  readSelection,
  toProperty,
  withholdSelection,
} from './selection.ts'

/**
 * Returns an around hook that resolves the result of a call, record by record. With `$select` only the
 * selected properties are resolved, and the id; where one of them is virtual, whole records are read.
 * @throws {BadRequest} in calls: property functions have failed, or a caller outside sent `$resolve`
 */
export function resolveResult<C>(...resolvers: readonly AnyResolver<C>[]): AroundResolverHook<C> {
  checkResolvers('resolveResult', resolvers)
  const virtualNames = new Set(resolvers.flatMap(({ virtualNames: names = [] }) => names))
  return async (context: C, next: () => Promise<void>) => {
    checkAround('resolveResult', next)
    const call = toCall(context)
    prepareQuery(call, virtualNames)
    await next()
    const { result, params } = call
    if (!isObject(result)) return
    const run = prepareResolvers(resolvers, call, params.resolve)
    const records = await forEachRecord(toRecords(call), (record) =>
      whenReady(run(record), (resolved) => keepForms(record, resolved)),
    )
    call.result = replaceRecords(call, records)
  }
}

/** Notes what is selected, and takes it out of the query where it is not for the database. */
function prepareQuery(call: ResolverCall, virtualNames: ReadonlySet<PropertyKey>): void {
  const { query, provider, resolve } = call.params
  const { $resolve, ...ofService } = query ?? {}
  if ($resolve !== undefined && provider) {
    throw new BadRequest('Invalid query parameter $resolve: select properties by $select')
  }
  const { $select, ...unselected } = ofService
  const properties = readSelection($resolve ?? $select, call)
  const hasVirtual = readSelection($select, call)?.some((name) => virtualNames.has(name)) ?? false
  const withheld = hasVirtual ? readNames($select) : findWithheld(call)
  // The schema of the query does not have to name what is virtual, and looks at the others.
  const others = withheld?.filter((name) => !virtualNames.has(toProperty(name)))
  if (others !== undefined) withholdSelection(call, others)
  call.params = {
    ...call.params,
    // Params that were handed on from another call have the properties of its records.
    resolve: { originalContext: call, ...resolve, properties },
    query: hasVirtual ? unselected : ofService,
  }
}

/** Gives a resolved record what callers outside see of the one that it was made of. */
function keepForms(record: unknown, resolved: unknown): unknown {
  if (!isObject(record) || !isObject(resolved) || record === resolved) return resolved
  carryDispatch(record, resolved)
  copyExternalForms(record, resolved)
  return resolved
}

describeFunction(resolveResult, { hookFactory: 'resolveResult(resolver)' })

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

/** Returns what callers outside see of a record by `resolveExternal`, `null` if that was not said. */
export function getDispatch(value: unknown): unknown {
  return (isObject(value) ? readDispatch(value) : undefined) ?? null
}

/**
 * Returns what callers outside see of a value: of a record by {@link getDispatch}, of a list item by
 * item, else the value itself.
 */
export function getDispatchValue(value: unknown): unknown {
  const dispatch = getDispatch(value)
  if (dispatch !== null) return dispatch
  return Array.isArray(value) ? value.map(getDispatchValue) : value
}

/**
 * Gives a record that was made of another one the same form outside: without the fields that
 * the other one does not show, and with those that are new.
 */
function carryDispatch(record: object, resolved: object): void {
  const dispatch = getDispatch(record)
  if (!isObject(dispatch)) return
  const fields = Object.entries(resolved).flatMap(([name, value]) => {
    const isSame = value === Reflect.get(record, name)
    if (Object.hasOwn(dispatch, name)) return [[name, isSame ? dispatch[name] : value] as const]
    return Object.hasOwn(record, name) ? [] : [[name, value] as const]
  })
  setDispatch(resolved, Object.fromEntries(fields))
}
