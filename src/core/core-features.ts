import { pickVersion } from './versions/record-version.ts'
import type { VersionParams } from './versions/version-tag.ts'

/** The params that features read. */
export interface FeatureParams extends VersionParams {}

export {
  /**
   * Returns the fields in the data of a call that are conditions of the write, `null` for none. Schemas never
   * drop them.
   */
  pickVersion as pickConditions,
}
