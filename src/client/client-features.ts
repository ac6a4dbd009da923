import type { VersionOptions } from './versions/versions.ts'
import { toIfMatch, useVersions, VERSION_RULES } from './versions/versions.ts'

/** The options of a connection that features read. */
export interface FeatureOptions extends VersionOptions {}

export {
  /** Returns the headers of a write for its params, `undefined` for none. */
  toIfMatch as toWriteHeaders,
  /** Adds the hooks of features to a client, depending on the options of its connection. */
  useVersions as useFeatures,
  /** The rules of {@link FeatureOptions}. */
  VERSION_RULES as FEATURE_RULES,
}
