import type { CallFacts } from './adapter-call.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { resolveCallSettings } from './resolve-options.ts'

const NOTHING: readonly string[] = []

/**
 * Returns what is known of a call as soon as it begins. Its options are read again in each of its methods: one that a
 * subclass overrides may change them, in place too.
 * @throws {TypeError} an option in its params is unknown, or has an invalid value
 */
export function readFacts(
  { options }: { readonly options: MongoDBSettings },
  params: MongoDBParams = {},
): CallFacts {
  const { adapter, paginate, provider } = params
  const isUsual = adapter === undefined && paginate === undefined
  const settings = isUsual ? options : resolveCallSettings(options, params)
  const isExternal = provider !== undefined
  return { settings, isExternal, hidden: isExternal ? settings.hidden : NOTHING }
}
