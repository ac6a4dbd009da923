import { BadRequest } from '../../errors/index.ts'
import {
  copyExternalForms,
  readDispatch,
  setDispatch,
  toExternalForm,
} from '../../external-form.ts'
import { describeFunction, nameFunction } from '../../function-metadata.ts'
import type { NextFunction } from '../../hooks/hook-map.ts'
import { isPage } from '../../results.ts'
import { checkList } from '../../services/multi-option.ts'
import { hasMethod, isObject, isPlainObject, isPromise, isSingleValue } from '../../value-kind.ts'
import { setOwnProperty } from '../plain-objects.ts'
import type { GivenStatus } from './resolver.ts'
import { chain, Resolver, whenReady } from './resolver.ts'
import {
  findWithheld,
  readNames,
  readSelection,
  toProperty,
  withholdSelection,
} from './selection.ts'

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

/** The status of the resolvers of any records. */
type Status = GivenStatus<unknown>

/** What the hooks use of a context: contexts of Remex and those of Feathers have it. */
interface ResolverCall {
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

/** @param work works on a call before its method. Returns a promise where it has to wait */
function createBeforeHook<C>(
  name: string,
  resolvers: readonly unknown[],
  work: (call: ResolverCall) => unknown,
): ResolverHook<C> {
  checkResolvers(name, resolvers)
  const hook: ResolverHook<C> = (context, next) => {
    // The types of contexts are those of applications.
    const call = context as ResolverCall
    if (call.type === 'after' || call.type === 'error') {
      throw new TypeError(`The ${name} hook must be used as a before or an around hook`)
    }
    return whenReady(work(call), () => next?.()) as Promise<void> | undefined
  }
  return nameFunction(name, hook)
}

/** @param work works on a call before its method. Returns what works on its result */
function createAroundHook<C>(
  name: string,
  resolvers: readonly unknown[],
  work: (call: ResolverCall) => (result: object) => Promise<void>,
): AroundResolverHook<C> {
  checkResolvers(name, resolvers)
  const hook: AroundResolverHook<C> = async (context, next) => {
    if (typeof next !== 'function') {
      throw new TypeError(`The ${name} hook must be used as an around hook`)
    }
    const call = context as ResolverCall
    const finish = work(call)
    await next()
    if (isObject(call.result)) await finish(call.result)
  }
  return nameFunction(name, hook)
}

/** @throws {TypeError} a resolver that is none: one that is missing would let everything pass */
function checkResolvers(hook: string, resolvers: readonly unknown[]): void {
  for (const resolver of resolvers) {
    if (isObject(resolver) && hasMethod(resolver, 'resolve')) continue
    throw new TypeError(`${hook}() takes resolvers, as resolve() returns them`)
  }
}

interface PreparedResolver {
  readonly virtualNames?: readonly PropertyKey[]
  prepare(context: unknown, status: Status | undefined): (record: unknown) => unknown
  resolve(record: unknown, context: unknown, status: Status | undefined): unknown
}

/**
 * Returns the function that gives what resolvers make of a record of one call, one after the other, or a
 * promise of it. If a later resolver makes a selected virtual property, those before it keep all properties for it.
 */
function prepareResolvers(
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

/** Calls a function with a record, or with each of a list. Returns what it returns, or a promise. */
function forEachRecord(records: unknown, run: (record: unknown) => unknown): unknown {
  if (!Array.isArray(records)) return run(records)
  const values = records.map(run)
  return values.some(isPromise) ? Promise.all(values) : values
}

/** Resolves to a result with what a function makes of its records: those of a page, a list, or one. */
async function mapRecords(
  { method, result }: ResolverCall,
  run: (record: unknown) => unknown,
): Promise<unknown> {
  if (!isPage(method, result)) return forEachRecord(result, run)
  return { ...result, data: await forEachRecord(result.data, run) }
}

/**
 * Returns a before or around hook that resolves the data of a call, item by item where it is a list.
 * @throws {BadRequest} in calls: property functions have failed
 * @throws {MethodNotAllowed} in calls: they have failed for a list of new records, which the option `multi` of
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

/** @throws {MethodNotAllowed} a record has failed, and the service takes no lists */
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
 * Returns a before or around hook that resolves the query of a call, `{}` where there is none. It sees
 * the top of the query: conditions in `$or` and `$and` are values of those two.
 * @throws {BadRequest} in calls: property functions have failed
 */
export function resolveQuery<C>(...resolvers: readonly AnyResolver<C>[]): ResolverHook<C> {
  return createBeforeHook('resolveQuery', resolvers, (call) => {
    const resolved = prepareResolvers(resolvers, call, undefined)(call.params.query ?? {})
    return whenReady(resolved, (query) => {
      // In a copy: the params may be those of the caller.
      call.params = { ...call.params, query: query as Readonly<Record<string, unknown>> }
    })
  })
}

/**
 * Returns an around hook that resolves the result of a call, record by record. With `$select` only the
 * selected properties are resolved, and the id; where one of them is virtual, whole records are read.
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

/** Notes what is selected, and takes it out of the query as {@link withholdVirtual} does. */
function prepareQuery(
  call: ResolverCall,
  virtualNames: ReadonlySet<PropertyKey>,
): readonly string[] | undefined {
  const { query, provider } = call.params
  const { $resolve, ...ofService } = query ?? {}
  if ($resolve !== undefined && provider) {
    throw new BadRequest('Invalid query parameter $resolve: select properties by $select')
  }
  const properties = readSelection($resolve ?? ofService['$select'], call)
  call.params = { ...call.params, resolve: toStatus(call, properties), query: ofService }
  return withholdVirtual(call, virtualNames) && properties
}

/** Returns the status of a call. Params passed on from another call name the properties of its records. */
function toStatus(call: ResolverCall, properties: readonly string[] | undefined): Status {
  return { originalContext: call, ...call.params.resolve, properties }
}

/** Notes what is selected for outer hooks, which no longer find it in the query. */
function noteStatus(call: ResolverCall, properties: readonly string[]): void {
  call.params = { ...call.params, resolve: toStatus(call, properties) }
}

/**
 * Takes `$select` out of the query where it names virtual properties: the service then returns whole records to
 * make them of. Returns the selected properties, `undefined` if the query was left alone.
 */
function withholdVirtual(
  call: ResolverCall,
  virtualNames: ReadonlySet<PropertyKey>,
): readonly string[] | undefined {
  const select = call.params.query?.['$select']
  const properties = readSelection(select, call)
  const hasVirtual = properties?.some((name) => virtualNames.has(name)) ?? false
  const withheld = hasVirtual ? readNames(select) : findWithheld(call)
  // The schema of the query does not have to name what is virtual, and looks at the others.
  const others = withheld?.filter((name) => !virtualNames.has(toProperty(name)))
  if (others !== undefined) withholdSelection(call, others)
  if (!hasVirtual) return undefined
  const { $select: _select, ...query } = call.params.query ?? {}
  call.params = { ...call.params, query }
  return properties
}

/**
 * Gives a resolved record what external callers see of the one that it was made of: without the fields
 * that the other one does not show, and with those that are new.
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

/** Where what is seen of a record has the resolvers that have made it: none of them is run on it again. */
const APPLIED: unique symbol = Symbol('remex.appliedResolvers')

/**
 * Returns an around hook that resolves what external callers see of a result: `context.dispatch`. Internal
 * calls get the whole records, which look so wherever they end up in a response. With `$select` only the
 * selected properties are resolved, and the id; where one of them is virtual, whole records are read.
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
      // If no hook has noted what is selected, the query says it. The status of params that were passed on
      // names the properties of other records.
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

/** Resolves to the result with the selected properties of its records, which look to external callers as before. */
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

/** Returns the function that gives what is seen of a record, or a promise of it. */
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

/** Keeps what is seen of a record: a copy, in which records of other services are as they look outside. */
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

/** Returns what external callers see of a record by `resolveExternal`, `null` if that was not said. */
export function getDispatch(value: unknown): unknown {
  return (isObject(value) ? readDispatch(value) : undefined) ?? null
}

/**
 * Returns what external callers see of a value: of a record by {@link getDispatch}, of a list item by
 * item, else the value itself.
 */
export function getDispatchValue(value: unknown): unknown {
  const dispatch = getDispatch(value)
  if (dispatch !== null) return dispatch
  return Array.isArray(value) ? value.map(getDispatchValue) : value
}
