import type { Document } from 'mongodb'
import type { AnyApplication } from '../../core/app.ts'
import type { AroundHook, HookContext } from '../../core/application-defaults.ts'
import { ArgumentError, OptionError } from '../../core/errors/setup-errors.ts'
import { RECORD_NOTES } from '../../core/external-form.ts'
import { describeFunction, nameFunction } from '../../core/function-metadata.ts'
import { runRest } from '../../core/hooks/around-hooks.ts'
import { toMethodSpec } from '../../core/method-table.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import type { AnyService } from '../../core/services/service-map.ts'
import { readUserId } from '../../core/user-id.ts'
import type { Write } from '../adapter-call.ts'
import { setRule } from '../call-rules.ts'
import { withoutPositions } from '../field-path.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { ON_MANY, pickSession, toMethodName } from '../mongodb-params.ts'
import { getIdKey } from '../object-id.ts'
import { omitFields, pickSelected } from '../queries/select.ts'
import { transaction } from '../transactions/transaction.ts'
import { findTransaction } from '../transactions/transaction-attempt.ts'
import { listWrittenPaths } from '../writes/write-data.ts'
import type { RecordService } from './record-hook.ts'
import { listSecrets, requireService, requireStore } from './record-hook.ts'

/** Options of {@link audit}. */
export interface AuditOptions {
  /** The path of the service with the entries. */
  readonly service: string
  /**
   * Fields whose values are not stored, in addition to the service's option `hidden` and the fields of its
   * hooks `protect` and `hashPassword`.
   */
  readonly omit?: readonly string[]
  /**
   * Returns what is stored about a caller. Default: the `_id` or `id` of `params.user`. If it returns `null`
   * or `undefined` for an internal call in the transaction of another call, it is called with the params of
   * the other call. If there is still no caller, `null` is stored.
   */
  readonly by?: (params: Params) => unknown
}

/** What {@link audit} stores about a written record. */
export interface AuditEntry {
  /** When the write ran. */
  readonly at: Date
  /** The caller. */
  readonly by: unknown
  /** The path of the service. */
  readonly service: string
  /** The kind of write: a record that is only marked counts as removed. */
  readonly method: 'create' | 'update' | 'patch' | 'remove'
  /** The id of the record. */
  readonly recordId: unknown
  /** The written paths; empty for a removed record. */
  readonly fields: readonly string[]
  /** The values of these fields after the write; for a removed record, all its values. */
  readonly values: Readonly<Record<string, unknown>>
}

/**
 * Returns an around hook that stores an {@link AuditEntry} in another service for each written record, in the
 * same transaction as the write: both are stored, or neither. It also covers custom methods.
 * @throws {TypeError} in calls: `params.docdb.returning` is `false`, so the written records are unknown
 */
export function audit(options: AuditOptions): AroundHook {
  checkOptions('audit()', options, {
    service: OPTION.string,
    omit: OPTION.stringList,
    by: OPTION.function,
  })
  if (options.service === undefined) throw new OptionError("audit() needs the option 'service'")
  const { service: path, omit = [], by = readUserId } = options
  const runInTransaction = transaction()
  const hook: AroundHook = (context, next) => {
    // Custom methods may write.
    if (toMethodSpec(context.method).verb === 'GET') return next()
    const service = requireService('audit()', context.service)
    const { service: target } = requireStore('audit()', context.app, path, service)
    return runInTransaction(context, async (...reasons) => {
      const writes: Write[] = []
      const onWritten = (write: Write): void => void writes.push(write)
      setRule(context, hook, { onWritten, notesRemoved: true })
      await runRest(next, reasons)
      if (writes.length === 0) return
      const caller = {
        at: new Date(),
        by: by(context.params) ?? (await readOuterCaller(context, service, by)) ?? null,
        service: context.path,
      }
      const omitted = [...service.options.hidden, ...listSecrets(service), ...omit]
      const entries: AuditEntry[] = []
      for (const write of writes) {
        for (const part of await describeWrite(context, service, write)) {
          entries.push({ ...caller, ...part, values: omitFields(part.values, omitted) })
        }
      }
      const many = { ...pickSession(context.params), adapter: { multi: true } }
      if (entries.length > 0) await (target as AnyService).create(entries, many)
    })
  }
  return describeFunction(nameFunction('audit', hook), {
    hookArguments: [options],
    changesNothing: true,
    refusesNobody: true,
    checkPlace: ({ app, service, label }) => {
      const watched = requireService(`audit() in ${label}`, service)
      requireStore('audit()', app as AnyApplication, path, watched)
    },
  })
}

/**
 * Resolves to the caller of the call that started the transaction of an internal call, `undefined` for none.
 */
async function readOuterCaller(
  { params }: HookContext,
  service: RecordService,
  by: (params: Params) => unknown,
): Promise<unknown> {
  if (params.provider !== undefined) return undefined
  const outer = findTransaction((await service.getModel()).db.client)?.call
  return outer === undefined ? undefined : by(outer.params)
}

/** Resolves to the entries for the records that an adapter call wrote. */
async function describeWrite(
  { params }: HookContext,
  service: RecordService,
  { operation, change, result }: Write,
): Promise<Pick<AuditEntry, 'method' | 'recordId' | 'fields' | 'values'>[]> {
  const method = toMethodName(operation) as AuditEntry['method']
  if (ON_MANY.has(operation) && !Array.isArray(result)) {
    throw new ArgumentError(
      'audit(): params.docdb.returning: false does not tell which records it writes',
    )
  }
  const shown = [result].flat() as Document[]
  const stored = await readStored(service, params, shown)
  const ids = ['_id', service.id]
  const { $setOnInsert, ...set } = change ?? {}
  return shown.map((record, index) => {
    const whole = stored[index] ?? record
    const isWhole = change === undefined || RECORD_NOTES.get(record)?.event === 'created'
    const names = isWhole
      ? Object.keys(method === 'remove' ? {} : whole)
      : // Fields of a record that is added: this one was there.
        listWrittenPaths(set)
    const fields = names.filter((name) => !ids.includes(name))
    const part = isWhole ? whole : pickSelected(whole, fields.map(withoutPositions), service.id)
    return { method, recordId: record[service.id], fields, values: omitFields(part, ids) }
  })
}

/**
 * Resolves to records as they are stored, or were when removed: the call itself may show less of them. A
 * record that a call with a pipeline marked as removed is returned in its current state.
 */
async function readStored(
  service: RecordService,
  params: MongoDBParams,
  shown: readonly Document[],
): Promise<(Document | undefined)[]> {
  const removed = shown.map((record) => RECORD_NOTES.get(record)?.stored as Document | undefined)
  const ids = shown.flatMap((record, index) => (removed[index] ? [] : [record[service.id]]))
  if (ids.length === 0) return removed
  const found: Document[] = await service._find({
    ...pickSession(params),
    query: { [service.id]: { $in: ids } },
    adapter: { ...params.adapter, paginate: false },
  })
  const byId = new Map(found.map((record) => [getIdKey(record[service.id]), record]))
  return shown.map((record, index) => removed[index] ?? byId.get(getIdKey(record[service.id])))
}

describeFunction(audit, { hookFactory: "audit({ service: 'audit' })" })
