import type { VersionOptions } from './versions/versions.ts'
import { toIfMatch, useVersions, VERSION_RULES } from './versions/versions.ts'

/** What features read from the options of a connection. */
export interface FeatureOptions extends VersionOptions {}

/** The rules of these options. */
export const FEATURE_RULES: typeof VERSION_RULES = VERSION_RULES

/** Gives a client the hooks of features, by the options of its connection. */
export const useFeatures: typeof useVersions = useVersions

/** Returns the headers of a write by its params, `undefined` for none. */
export const toWriteHeaders: typeof toIfMatch = toIfMatch
