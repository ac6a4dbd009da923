import { InvalidQuery } from '../../errors/coded-errors.ts'
import {
  copyExternalForms,
  readDispatch,
  setDispatch,
  toExternalForm,
} from '../../external-form.ts'
import { describeFunction } from '../../function-metadata.ts'
import { checkList } from '../../services/multi-option.ts'
import { isObject, isPlainObject, isSingleValue } from '../../value-kind.ts'
import { setOwnProperty } from '../plain-objects.ts'
import { Resolver, whenReady } from './resolver.ts'
import type {
  AnyResolver,
  AroundResolverHook,
  ResolverCall,
  ResolverHook,
  Status,
} from './resolver-call.ts'
import {
  createAroundHook,
  createBeforeHook,
  forEachRecord,
  mapRecords,
  prepareResolvers,
} from './resolver-call.ts'
import {
  findWithheld,
  readNames,
  readSelection,
  toProperty,
  withholdSelection,
} from './selection.ts'

/**
 * Returns a before or around hook that resolves the data of a call, each item of a list.
 * @throws {BadRequest} in calls: property functions have failed
 * @throws {MethodNotAllowed} in calls: they have failed for a list of new records that the option `multi` of
 *   the service does not allow
 */
export function resolveData<C>(...resolvers: readonly AnyResolver<C>[]): ResolverHook<C> {
  return createBeforeHook('resolveData', resolvers, (call) => {
    if (call.data === undefined) return undefined
    const run = prepareResolvers(resolvers, call, { originalContext: call })
    const isNewList = call.method === 'create' && Array.isArray(call.data)
    const resolved = isNewList ? resolveList(call, run) : forEachRecord(call.data, run)
    return whenReady(resolved, (data) => {
      call.data = data
    })
  })
}

/** @throws {MethodNotAllowed} a record has failed, and the service does not accept lists */
async function resolveList(
  call: ResolverCall,
  run: (record: unknown) => unknown,
): Promise<unknown> {
  const { data, service, params } = call
  try {
    return await forEachRecord(data, run)
  } catch (error) {
    if (service !== undefined) checkList({ service, params })
    throw error
  }
}

/**
 * Returns a before or around hook that resolves the query of a call, `{}` if it has none. Resolvers see only
 * the top level of the query: conditions in `$or` and `$and` are the values of these names.
 * @throws {BadRequest} in calls: property functions have failed
 */
export function resolveQuery<C>(...resolvers: readonly AnyResolver<C>[]): ResolverHook<C> {
  return createBeforeHook('resolveQuery', resolvers, (call) => {
    const resolved = prepareResolvers(resolvers, call, undefined)(call.params.query ?? {})
    return whenReady(resolved, (query) => {
      // A copy: the params may belong to the caller.
      call.params = { ...call.params, query: query as Readonly<Record<string, unknown>> }
    })
  })
}

/**
 * Returns an around hook that resolves the result of a call, record by record. With `$select`, only the
 * selected properties and the id are resolved; if one of them is virtual, whole records are read.
 * @throws {BadRequest} in calls: property functions have failed, or an external caller sent `$resolve`
 */
export function resolveResult<C>(...resolvers: readonly AnyResolver<C>[]): AroundResolverHook<C> {
  const virtualNames = new Set(resolvers.flatMap((one) => one?.virtualNames ?? []))
  return createAroundHook('resolveResult', resolvers, (call) => {
    const withheld = prepareQuery(call, virtualNames)
    return async () => {
      if (withheld !== undefined) noteStatus(call, withheld)
      const run = prepareResolvers(resolvers, call, call.params.resolve)
      call.result = await mapRecords(call, (record) =>
        whenReady(run(record), (resolved) => keepForms(record, resolved)),
      )
    }
  })
}

/** Notes the selection, and removes it from the query, as in {@link withholdVirtual}. */
function prepareQuery(
  call: ResolverCall,
  virtualNames: ReadonlySet<PropertyKey>,
): readonly string[] | undefined {
  const { query, provider } = call.params
  const { $resolve, ...ofService } = query ?? {}
  if ($resolve !== undefined && provider) {
    throw new InvalidQuery('Invalid query parameter $resolve: select properties by $select')
  }
  const properties = readSelection($resolve ?? ofService['$select'], call)
  call.params = { ...call.params, resolve: toStatus(call, properties), query: ofService }
  return withholdVirtual(call, virtualNames) && properties
}

/** Returns the status of a call. Params passed on from another call name the properties of its records. */
function toStatus(call: ResolverCall, properties: readonly string[] | undefined): Status {
  return { originalContext: call, ...call.params.resolve, properties }
}

/** Notes the selection for outer hooks, which no longer find it in the query. */
function noteStatus(call: ResolverCall, properties: readonly string[]): void {
  call.params = { ...call.params, resolve: toStatus(call, properties) }
}

/**
 * Removes `$select` from the query if it names virtual properties: the service then returns whole records to
 * compute them from. Returns the selected properties, `undefined` if the query was not changed.
 */
function withholdVirtual(
  call: ResolverCall,
  virtualNames: ReadonlySet<PropertyKey>,
): readonly string[] | undefined {
  const select = call.params.query?.['$select']
  const properties = readSelection(select, call)
  const hasVirtual = properties?.some((name) => virtualNames.has(name)) ?? false
  const withheld = hasVirtual ? readNames(select) : findWithheld(call)
  // The schema of the query need not name virtual properties; it checks the others.
  const others = withheld?.filter((name) => !virtualNames.has(toProperty(name)))
  if (others !== undefined) withholdSelection(call, others)
  if (!hasVirtual) return undefined
  const { $select: _select, ...query } = call.params.query ?? {}
  call.params = { ...call.params, query }
  return properties
}

/**
 * Gives a resolved record the external form of the record it was made from: without the fields that the
 * original hides, and with new fields.
 */
function keepForms(record: unknown, resolved: unknown): unknown {
  if (!isObject(record) || !isObject(resolved) || record === resolved) return resolved
  const dispatch = getDispatch(record)
  if (isObject(dispatch)) {
    const fields = Object.entries(resolved).flatMap(([name, value]) => {
      const isSame = value === Reflect.get(record, name)
      if (Object.hasOwn(dispatch, name)) return [[name, isSame ? dispatch[name] : value] as const]
      return Object.hasOwn(record, name) ? [] : [[name, value] as const]
    })
    setDispatch(resolved, Object.fromEntries(fields))
  }
  copyExternalForms(record, resolved)
  return resolved
}

/**
 * The property in which an external form keeps the resolvers that made it, so that none of them runs on it
 * again.
 */
const APPLIED: unique symbol = Symbol('remex.appliedResolvers')

/**
 * Returns an around hook that resolves what external callers see of a result: `context.dispatch`. Internal
 * calls get the whole records; these have their external form wherever they end up in a response. With
 * `$select`, only the selected properties and the id are resolved; if one of them is virtual, whole records
 * are read.
 * @throws {BadRequest} in calls: property functions have failed
 */
export function resolveExternal<C>(...resolvers: readonly AnyResolver<C>[]): AroundResolverHook<C> {
  const virtualNames = new Set(resolvers.flatMap((one) => one?.virtualNames ?? []))
  return createAroundHook('resolveExternal', resolvers, (call) => {
    const withheld = withholdVirtual(call, virtualNames)
    const given = call.params.resolve
    return async (result) => {
      if (isSingleValue(result)) return
      if (withheld !== undefined) noteStatus(call, withheld)
      const { resolve, query } = call.params
      // If no hook noted the selection, it is taken from the query. The status of passed-on params names the
      // properties of other records.
      const properties = readSelection(query?.['$select'], call)
      const isNoted = resolve !== undefined && resolve !== given
      const status = isNoted ? resolve : toStatus(call, properties)
      const dispatch = await mapRecords(call, createExternal(resolvers, call, status))
      if (withheld !== undefined) call.result = await selectRecords(call, withheld)
      call.dispatch = dispatch
      const selected = call.result as object
      if (dispatch !== getDispatch(selected)) setDispatch(selected, dispatch)
    }
  })
}

/** Picks the properties that a status names. */
const SELECTING = new Resolver<Record<string, unknown>, unknown>({ properties: {} })

/** Resolves to the result with the selected properties of its records. Their external form stays. */
function selectRecords(call: ResolverCall, properties: readonly string[]): Promise<unknown> {
  const select = SELECTING.prepare(call, { properties })
  return mapRecords(call, (record) => {
    const selected: unknown = select(record)
    if (!isObject(record) || !isObject(selected) || selected === record) return selected
    copyExternalForms(record, selected)
    setDispatch(selected, getDispatch(record))
    return selected
  })
}

/** Returns a function that returns the external form of a record, or a promise of it. */
function createExternal(
  resolvers: readonly unknown[],
  call: ResolverCall,
  status: Status,
): (record: unknown) => unknown {
  const runAll = prepareResolvers(resolvers, call, status)
  return (record) => {
    if (!isObject(record) || isSingleValue(record)) return record
    const existing = getDispatch(record)
    const applied = (isObject(existing) && (existing as Dispatch)[APPLIED]) || []
    const further = resolvers.filter((resolver) => !applied.includes(resolver))
    if (existing !== null && further.length === 0) return existing
    const run = applied.length === 0 ? runAll : prepareResolvers(further, call, status)
    return whenReady(run(existing ?? record), (resolved) =>
      keepDispatch(record, resolved, [...applied, ...further]),
    )
  }
}

interface Dispatch {
  readonly [APPLIED]?: readonly unknown[]
}

/**
 * Stores the external form of a record: a copy, in which records of other services have their external form.
 */
function keepDispatch(record: object, resolved: unknown, applied: readonly unknown[]): unknown {
  if (!isObject(resolved)) return setDispatch(record, resolved)
  let dispatch: object = resolved
  if (isPlainObject(resolved)) {
    const copy: Record<string, unknown> = {}
    for (const name of Object.keys(resolved)) {
      setOwnProperty(copy, name, toExternalForm(resolved[name]))
    }
    dispatch = copy
  }
  copyExternalForms(record, dispatch)
  Reflect.defineProperty(dispatch, APPLIED, { value: applied, configurable: true })
  return setDispatch(record, dispatch)
}

/** The name of {@link resolveExternal} in earlier versions of Feathers. */
export const resolveDispatch: typeof resolveExternal = resolveExternal

const FACTORIES = { resolveData, resolveQuery, resolveResult, resolveExternal }
for (const [name, factory] of Object.entries(FACTORIES)) {
  describeFunction(factory, { hookFactory: `${name}(resolver)` })
}

/** Returns the external form of a record set by `resolveExternal`, `null` if there is none. */
export function getDispatch(value: unknown): unknown {
  return (isObject(value) ? readDispatch(value) : undefined) ?? null
}

/**
 * Returns a value as external callers see it: a record by {@link getDispatch}, a list item by item, else the
 * value itself.
 */
export function getDispatchValue(value: unknown): unknown {
  const dispatch = getDispatch(value)
  if (dispatch !== null) return dispatch
  return Array.isArray(value) ? value.map(getDispatchValue) : value
}
