import type { OptionRules } from '../core/option-check.ts'
import { checkOptions, withDefaults } from '../core/option-check.ts'
import { isObject, isPlainObject } from '../core/value-kind.ts'
import { MODEL_EXPECTED } from './connection/model.ts'
import { relate } from './field-path.ts'
import type { MongoDBOptions, MongoDBSettings, Paginate } from './mongodb-options.ts'
import { DEFAULT_LIMITS, OPTION_RULES } from './option-rules.ts'
import { findSearchLeak, isTextSearch } from './queries/text-search.ts'

/** Names the owner of the options in errors. */
const OWNER = 'MongoDBService'

const ROWS = Object.entries(OPTION_RULES)

const DEFAULTS = Object.fromEntries(ROWS.map(([name, row]) => [name, row.default])) as Omit<
  MongoDBSettings,
  'Model'
>

/** The rules of the options that one call can change. */
const CALL_RULES: OptionRules = Object.fromEntries(ROWS.filter(([, row]) => !row.isFixed))

/**
 * Returns a new object with all options set.
 * @throws {TypeError} `Model` is missing, an option is unknown, or has an invalid value, or a text
 *   search could read hidden fields; names the option or the field
 */
export function resolveMongoDBOptions(options: MongoDBOptions): MongoDBSettings {
  const given: unknown = options ?? {}
  // A collection in place of the options has much, and a `Model` is not among it.
  if (isObject(given) && !isPlainObject(given) && given['Model'] === undefined) {
    throw new TypeError(`${OWNER}: the options must be an object with 'Model', ${MODEL_EXPECTED}`)
  }
  checkOptions(OWNER, given, OPTION_RULES)
  if (options?.Model === undefined) throw createOptionError('Model')
  const settings = withDefaults<MongoDBSettings>(
    { ...DEFAULTS, Model: options.Model },
    { ...options, limits: withDefaults(DEFAULT_LIMITS, options.limits ?? {}) },
  )
  if (settings.hidden.includes(settings.id)) throw createOptionError('hidden')
  // No caller outside could name its value, and each call has to.
  const isHidden = (field: string): boolean => relate(field, settings.hidden) !== 'apart'
  if (settings.shardKey.some(isHidden)) throw createOptionError('shardKey')
  const leak = isTextSearch('$search', settings) ? findSearchLeak(settings) : undefined
  if (leak !== undefined) throw new TypeError(`${OWNER}: the option 'filters.$search': ${leak}`)
  return settings
}

/**
 * Returns the options for one call: the service's, then `paginate`, then `adapter`.
 * @throws {TypeError} as {@link resolveMongoDBOptions}
 */
export function overrideSettings(
  settings: MongoDBSettings,
  paginate: Paginate | false | undefined,
  adapter: Partial<MongoDBOptions> | undefined,
): MongoDBSettings {
  if (paginate) checkOptions('params', { paginate }, { paginate: OPTION_RULES.paginate })
  const paged = paginate === undefined ? settings : { ...settings, paginate }
  if (adapter === undefined) return paged
  checkOptions('params.adapter', adapter, CALL_RULES)
  const limits = withDefaults(settings.limits, adapter.limits ?? {})
  return withDefaults(paged, { ...adapter, limits })
}

function createOptionError(name: keyof MongoDBSettings): TypeError {
  return new TypeError(`${OWNER}: the option '${name}' must be ${OPTION_RULES[name].expected}`)
}
