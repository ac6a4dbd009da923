import type { DriverOptions, Operation } from './driver-options.ts'
import { toDriverOptions } from './driver-options.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { isExternal } from './mongodb-params.ts'

/**
 * What may be stopped halfway. A write has no time limit of ours: it would end with some records
 * changed and others not.
 */
const READS: ReadonlySet<Operation> = new Set(['read', 'cursor'])

/**
 * Returns the options for the commands of a call: those of its params, and the time limit of the
 * service for reads of callers outside. An option in `params.docdb` wins.
 * @throws {TypeError} as {@link toDriverOptions}
 */
export function toCommandOptions(
  settings: MongoDBSettings,
  params: MongoDBParams,
  operation: Operation,
): DriverOptions {
  const options = toDriverOptions(params, operation)
  const { timeMs } = settings.limits
  if (isExternal(params) && READS.has(operation) && Number.isFinite(timeMs)) {
    options.maxTimeMS ??= timeMs
  }
  return options
}
