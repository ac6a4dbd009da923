import { pickVersion } from './versions/record-version.ts'
import type { VersionParams } from './versions/version-tag.ts'

/** What features read from the params of a call. */
export interface FeatureParams extends VersionParams {}

export {
  /** Returns the fields in the data of a call that are conditions of its write, `null` for none: no schema drops them. */
  pickVersion as pickConditions,
}
