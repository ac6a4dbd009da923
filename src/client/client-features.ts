import type { VersionOptions } from './versions/versions.ts'
import { toIfMatch, useVersions, VERSION_RULES } from './versions/versions.ts'

/** What features read from the options of a connection. */
export interface FeatureOptions extends VersionOptions {}

export {
  /** Returns the headers of a write by its params, `undefined` for none. */
  toIfMatch as toWriteHeaders,
  /** Gives a client the hooks of features, by the options of its connection. */
  useVersions as useFeatures,
  /** The rules of {@link FeatureOptions}. */
  VERSION_RULES as FEATURE_RULES,
}
