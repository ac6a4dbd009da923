import type { AnyApplication } from '../../core/app.ts'
import type { Hook, HookContext } from '../../core/application-defaults.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction, metadataOf, nameFunction } from '../../core/function-metadata.ts'
import { listServiceHooks } from '../../core/hooks/hook-registry.ts'
import { findServiceEntry } from '../../core/index.ts'
import { isWrite, toMethodSpec } from '../../core/method-table.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import type { ServiceEntryFace } from '../../core/services/method-entry.ts'
import { toServicePath } from '../../core/services/service-input.ts'
import { isObject } from '../../core/value-kind.ts'
import type { RuledWrite } from '../adapter-call.ts'
import { isFieldName } from '../field-path.ts'
import { HooklessService } from '../hookless-service.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { hasOperators } from '../writes/write-data.ts'

/** A service on a collection with any records. */
// biome-ignore lint/suspicious/noExplicitAny: the params of a service may be more than those of the adapter
export type RecordService = HooklessService<any, any, any, any>

/** The rule of an option that names a field. */
export const FIELD: OptionRule = {
  expected: 'the name of a field, without a dot',
  isValid: isFieldName,
}

/** Returns a before hook for services on collections, named after its factory. */
export function createRecordHook(
  name: string,
  run: (context: HookContext, service: RecordService) => unknown,
): Hook {
  const hook: Hook = (context) => {
    if (context.type !== 'before') throw new HookError(`The ${name} hook must be a before hook`)
    return run(context, requireService(name, context.service))
  }
  return describeFunction(nameFunction(name, hook), {
    checkPlace: ({ service, label }) => requireService(`${name}() in ${label}`, service),
  })
}

/** @throws {TypeError} it is not a service on a collection */
export function requireService(owner: string, service: unknown): RecordService {
  if (service instanceof HooklessService) return service
  throw new HookError(`${owner} needs a service of remex/mongodb`)
}

/**
 * Returns the entry of the service in which a hook stores.
 * @throws {TypeError} there is none, or it is the called service
 */
export function requireStore(
  owner: string,
  { entries }: AnyApplication,
  path: string,
  caller: object,
): ServiceEntryFace {
  const entry = entries.get(toServicePath(path))
  if (entry === undefined) throw new HookError(`${owner}: there is no service '${path}'`)
  if (entry.service !== caller) return entry
  throw new HookError(`${owner}: '${path}' cannot store what its own calls write`)
}

/** Whether a method stores the data of its caller: `create`, `update` and `patch` do. */
export function storesData(method: string): boolean {
  return isWrite(method) && toMethodSpec(method).arguments.includes('data')
}

/** Returns the fields of a service that hooks hash or hide from callers. */
export function listSecrets(service: object): readonly string[] {
  const entry = findServiceEntry(service)
  const hooks = entry === undefined ? [] : listServiceHooks(entry)
  return hooks.flatMap((hook) => metadataOf(hook).secretFields ?? [])
}

/**
 * Applies a step to each record in the data of a call. The step gets the write as it is before later hooks
 * run. Data that is not a record stays as it is: the service rejects it.
 */
export function mapWrites(
  context: HookContext,
  settings: MongoDBSettings,
  step: (write: RuledWrite) => RuledWrite,
): void {
  const { data, id, method } = context
  if (!storesData(method)) return
  const map = (item: unknown): unknown => {
    if (!isObject(item) || Array.isArray(item)) return item
    const kind = method === 'update' && hasOperators(item) ? 'patch' : (method as 'create')
    return step({ kind, data: item, id, isUpsert: false, settings, given: {}, kept: {} }).data
  }
  context.data = method === 'create' && Array.isArray(data) ? data.map(map) : map(data)
}
