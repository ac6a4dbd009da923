import type { CollationOptions, FindOneAndUpdateOptions, FindOptions, Hint } from 'mongodb'

type WriteOption = 'arrayFilters' | 'bypassDocumentValidation' | 'upsert' | 'writeConcern'

/** Options of the driver that `params.docdb` passes to every command of a call. */
export interface DriverOptions
  extends Omit<FindOptions, 'hint' | 'limit' | 'skip'>,
    Pick<FindOneAndUpdateOptions, WriteOption> {
  hint?: Hint
}

/** The params that reach the driver. */
export interface DriverParams {
  /** Options for the driver, in each command of this call: `session`, `hint`, `upsert`, … */
  docdb?: DriverOptions | undefined
  /** The same as {@link docdb}, which wins. */
  mongodb?: DriverOptions | undefined
  /** How strings are compared and sorted in this call. */
  collation?: CollationOptions | undefined
}

/** Returns a new object for the driver, which writes into the options it gets. */
export function toDriverOptions(params: DriverParams): DriverOptions {
  const { collation } = params
  return { ...(collation === undefined ? {} : { collation }), ...(params.docdb ?? params.mongodb) }
}

/**
 * Returns options for a command that writes. `undefined` in data is left out, as it is on the way
 * over HTTP. The type is that of the strictest command: a `hint` by index name is fine for all.
 */
export function toWriteOptions(driver: DriverOptions): FindOneAndUpdateOptions {
  return { ignoreUndefined: true, ...driver } as FindOneAndUpdateOptions
}
