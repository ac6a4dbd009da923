import type { DriverOptions, Operation } from './driver-options.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { isExternal } from './mongodb-params.ts'

/**
 * What may be stopped halfway, and what may be read from any server. A write has no time limit of
 * ours: it would end with some records changed and others not; what it reads comes from the primary.
 */
const READS: ReadonlySet<Operation> = new Set(['read', 'cursor', 'aggregate'])

/** Returns how many ms the server may work on a read for a caller outside; `undefined`: any time. */
export function toReadLimit(settings: MongoDBSettings, params: MongoDBParams): number | undefined {
  const { timeMs } = settings.limits
  return isExternal(params) && Number.isFinite(timeMs) ? timeMs : undefined
}

/**
 * Adds to the options for the commands of a call, whose session is known by now: the concerns of the
 * service, and its time limit for reads of callers outside.
 * @throws {TypeError} within a transaction, `params.docdb.readPreference` is not `'primary'`
 */
export function addServiceOptions(
  options: DriverOptions,
  settings: MongoDBSettings,
  params: MongoDBParams,
  operation: Operation,
): void {
  const isRead = READS.has(operation)
  const limit = toReadLimit(settings, params)
  if (isRead && limit !== undefined) options.maxTimeMS ??= limit
  // The commands of a transaction share the concerns that it was started with.
  if (options.session?.inTransaction() === true) {
    checkPrimary(options)
    return
  }
  const { readPreference, readConcern, writeConcern } = settings
  if (isRead && readPreference !== undefined) options.readPreference ??= readPreference
  if (isRead && readConcern !== undefined) options.readConcern ??= readConcern
  if (!isRead && writeConcern !== undefined) options.writeConcern ??= writeConcern
}

/** The driver refuses it as well, by an error without a class of its own here. */
function checkPrimary({ readPreference = 'primary' }: DriverOptions): void {
  const mode = typeof readPreference === 'string' ? readPreference : readPreference.mode
  if (mode === 'primary') return
  throw new TypeError(
    `The option params.docdb.readPreference must be 'primary' within a transaction, not '${mode}'`,
  )
}
