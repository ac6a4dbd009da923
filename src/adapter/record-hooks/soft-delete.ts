import type { Hook } from '../../core/application-defaults.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import { findServiceEntry } from '../../core/index.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import { setRule } from '../call-rules.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { createRecordHook, FIELD, requireService, storesData, withoutField } from './record-hook.ts'

/** Options of {@link softDelete}. */
export interface SoftDeleteOptions {
  /** The field with the time of the removal. Default: `'deletedAt'`. */
  readonly field?: string
}

/**
 * Returns a before hook, for all methods, by which `remove` marks records with the time, and no method
 * finds marked ones. Calls inside with `params.withDeleted: true` find them, and `remove` them for good.
 * What callers outside send in the field is left out.
 * @throws {BadRequest} in calls: an operator from outside would change the field
 */
export function softDelete(options: SoftDeleteOptions = {}): Hook {
  checkOptions('softDelete()', options, { field: FIELD })
  const { field = 'deletedAt' } = options
  const rule = { filter: { [field]: null }, mark: field }
  const hook = createRecordHook('softDelete', (context) => {
    const { withDeleted, provider } = context.params as MongoDBParams
    setRule(context, hook, withDeleted === true ? undefined : rule)
    if (provider === undefined || !storesData(context.method)) return
    context.data = withoutField(context.data, field)
  })
  return describeFunction(hook, {
    refusesNobody: true,
    checkPlace({ service, label }) {
      const owner = requireService(`softDelete() in ${label}`, service)
      const all: readonly unknown[] = findServiceEntry(owner)?.hooks.get('before', 'all') ?? []
      if (all.includes(hook)) return
      throw new TypeError(
        `softDelete() in ${label} must stand in 'before all': other methods would find marked records`,
      )
    },
  })
}

describeFunction(softDelete, { hookFactory: 'softDelete()' })
