import { noteEvent } from '../../core/hooks/method-call.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { toWriteOptions } from '../driver-options.ts'
import { toUpdateDocument } from './update-document.ts'
import type { WriteData } from './write-data.ts'

/** What `patch` and `remove` of many resolve to with `params.docdb.returning: false`. */
export interface WriteCount {
  /** Whether the server has answered: `false` with the write concern `{ w: 0 }`. */
  readonly acknowledged: boolean
  /** How many records the query has matched; 0 where the server has not answered. */
  readonly matched: number
  /** How many of them are different now, or gone. */
  readonly modified: number
}

/** Options of a write to many whose records nobody reads. */
interface UnreadOptions {
  /** Nobody reads the records. */
  readonly returning: false
}

/** Params of a write to many that resolves to {@link WriteCount}. */
export type UnreadParams =
  | {
      /** Options for the driver. */
      readonly docdb: UnreadOptions
    }
  | {
      /** Another name for `docdb`. */
      readonly mongodb: UnreadOptions
    }

/** Changes all records that match: one command. It emits no event. */
export async function patchUnread(call: AdapterCall, data: WriteData): Promise<WriteCount> {
  const { collection, query, driver, settings } = call
  const update = toUpdateDocument(data, settings.id)
  const { acknowledged, matchedCount, modifiedCount } = await collection.updateMany(
    query.filter,
    update,
    toWriteOptions(driver),
  )
  return toCount({ acknowledged, matched: matchedCount, modified: modifiedCount })
}

/** Removes all records that match: one command. It emits no event. */
export async function removeUnread({
  collection,
  query,
  driver,
}: AdapterCall): Promise<WriteCount> {
  const options = toWriteOptions(driver)
  const { acknowledged, deletedCount } = await collection.deleteMany(query.filter, options)
  return toCount({ acknowledged, matched: deletedCount, modified: deletedCount })
}

/** It is no record that listeners could take. */
function toCount({ acknowledged, matched = 0, modified = 0 }: DriverCount): WriteCount {
  const count = { acknowledged, matched, modified }
  noteEvent(count, null)
  return count
}

/** What the driver says, which leaves the numbers out where the server has not answered. */
interface DriverCount {
  readonly acknowledged: boolean
  readonly matched?: number | undefined
  readonly modified?: number | undefined
}
