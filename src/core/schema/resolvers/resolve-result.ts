import { BadRequest } from '../../errors/index.ts'
import { copyExternalForms } from '../../external-form.ts'
import { describeFunction } from '../../function-metadata.ts'
import { isObject } from '../../value-kind.ts'
import { findWithheld, withholdSelection } from '../withheld-selection.ts'
import { carryDispatch } from './dispatch.ts'
import { whenReady } from './pending.ts'
import type { AnyResolver, AroundResolverHook, ResolverCall } from './resolver-hook.ts'
import {
  checkAround,
  checkResolvers,
  forEachRecord,
  prepareResolvers,
  replaceRecords,
  toCall,
  toRecords,
} from './resolver-hook.ts'
import { readNames, readSelection, toProperty } from './selection.ts'

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
