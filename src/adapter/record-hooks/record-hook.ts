import type { Hook, HookContext } from '../../core/application-defaults.ts'
import { describeFunction, metadataOf, nameFunction } from '../../core/function-metadata.ts'
import { listServiceHooks } from '../../core/hooks/hook-registry.ts'
import { findServiceEntry } from '../../core/index.ts'
import { isWrite, toMethodSpec } from '../../core/method-table.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import { isObject } from '../../core/value-kind.ts'
import { isFieldName } from '../field-path.ts'
import { HooklessService } from '../hookless-service.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { createFieldError, namesField } from '../writes/write-data.ts'

/** A service on a collection, whatever its records are. */
// biome-ignore lint/suspicious/noExplicitAny: the params of a service may be more than those of the adapter
export type RecordService = HooklessService<any, any, any, any>

/** Params of a call of a service on a collection. */
export type RecordParams = Params & MongoDBParams

/** The rule of an option that names a field. */
export const FIELD: OptionRule = {
  expected: 'the name of a field, without a dot',
  isValid: isFieldName,
}

/**
 * Returns a before hook for services on collections, by the name of its factory.
 * @param refusesNobody whether it lets everybody pass
 */
export function createRecordHook(
  name: string,
  refusesNobody: boolean,
  run: (context: HookContext, service: RecordService) => unknown,
): Hook {
  const hook: Hook = (context) => {
    if (context.type !== 'before') throw new TypeError(`The ${name} hook must be a before hook`)
    return run(context, requireService(name, context.service))
  }
  return describeFunction(nameFunction(name, hook), {
    refusesNobody,
    checkPlace: ({ service, label }) => requireService(`${name}() in ${label}`, service),
  })
}

/** @throws {TypeError} it is none on a collection */
export function requireService(owner: string, service: unknown): RecordService {
  if (service instanceof HooklessService) return service
  throw new TypeError(`${owner} needs a service of remex/mongodb`)
}

/** Whether a method stores the data of its caller: `create`, `update` and `patch` do. */
export function storesData(method: string): boolean {
  return isWrite(method) && toMethodSpec(method).arguments.includes('data')
}

/** Returns the fields of a service that hooks hash, or keep from callers. */
export function listSecrets(service: object): readonly string[] {
  const entry = findServiceEntry(service)
  const hooks = entry === undefined ? [] : listServiceHooks(entry)
  return hooks.flatMap((hook) => metadataOf(hook).secretFields ?? [])
}

/**
 * Returns data that a caller outside has sent without a field that the server sets, a list for each item.
 * @throws {BadRequest} an operator or a path of the data has to do with the field
 */
export function withoutField(data: unknown, field: string): unknown {
  if (Array.isArray(data)) return data.map((item) => withoutField(item, field))
  if (!isObject(data) || !namesField(data, field)) return data
  const { [field]: _, ...others } = data
  if (namesField(others, field)) throw createFieldError(field)
  return others
}
