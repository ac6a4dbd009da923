import type { Document } from 'mongodb'
import type { Hook } from '../../core/application-defaults.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import { findServiceEntry } from '../../core/index.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import type { FieldName } from '../../core/services/record-query.ts'
import type { CallRule, RuledWrite } from '../adapter-call.ts'
import { setRule } from '../call-rules.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { createFieldError, takeField } from '../writes/write-data.ts'
import { createRecordHook, FIELD, mapWrites, requireService, storesData } from './record-hook.ts'

/** Options of {@link softDelete}. */
export interface SoftDeleteOptions<T = Document> {
  /** The field with the time of the removal. Default: `'deletedAt'`. */
  readonly field?: FieldName<T>
}

/**
 * Returns a before hook for all methods: `remove` only marks records with the time, and no method finds
 * marked records. Internal calls with `params.withDeleted: true` find them, and remove them for good. The
 * hook removes the field from external data.
 * @throws {BadRequest} in external calls: an operator would change the field, or another hook has set it
 */
export function softDelete<T = Document>(options: SoftDeleteOptions<T> = {}): Hook {
  checkOptions('softDelete()', options, { field: FIELD })
  const { field = 'deletedAt' } = options
  const rule: CallRule = { filter: { [field]: null }, mark: field }
  const holdingRule: CallRule = { ...rule, hold: (write) => checkUnmarked(write, field) }
  const hook = createRecordHook('softDelete', (context, { options: settings }) => {
    const { withDeleted, provider } = context.params as MongoDBParams
    const isWrite = provider !== undefined && storesData(context.method)
    const active = isWrite ? holdingRule : rule
    setRule(context, hook, withDeleted === true ? undefined : active)
    if (!isWrite) return
    const leaveOut = (write: RuledWrite) => ({
      ...write,
      data: takeField(write.data, field).others,
    })
    mapWrites(context, settings, leaveOut)
  })
  return describeFunction(hook, {
    hookArguments: Object.keys(options).length === 0 ? [] : [options],
    refusesNobody: true,
    checkPlace({ service, label }) {
      const owner = requireService(`softDelete() in ${label}`, service)
      const all: readonly unknown[] = findServiceEntry(owner)?.hooks.get('before', 'all') ?? []
      if (all.includes(hook)) return
      throw new HookError(
        `softDelete() in ${label} must be registered in 'before all': other methods would find marked records`,
      )
    },
  })
}

/** @throws {BadRequest} the write would mark a record, or change its mark */
function checkUnmarked(write: RuledWrite, field: string): RuledWrite {
  const { value } = takeField(write.data, field)
  if (value !== undefined && value !== null) throw createFieldError(field)
  return write
}

describeFunction(softDelete, { hookFactory: 'softDelete()' })
