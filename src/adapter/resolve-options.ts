import type { OptionRules } from '../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../core/options/option-check.ts'
import { SERVICE_OPTION_NAMES } from '../core/services/service-options.ts'
import { isObject, isPlainObject } from '../core/value-kind.ts'
import { MODEL_EXPECTED } from './connection/model.ts'
import { relate } from './field-path.ts'
import type {
  MongoDBOptions,
  MongoDBSettings,
  Paginate,
  ResolvedMongoDBOptions,
} from './mongodb-options.ts'
import { DEFAULT_LIMITS, OPTION_RULES } from './option-rules.ts'
import { findSearchLeak, isTextSearch } from './queries/text-search.ts'

/** Names the owner of the options in errors. */
const OWNER = 'MongoDBService'

const ROWS = Object.entries(OPTION_RULES)

const DEFAULTS = Object.fromEntries(ROWS.map(([name, row]) => [name, row.default])) as Omit<
  MongoDBSettings,
  'Model'
>

/** The rules of all options: none that a name given to other packages could be meant for. */
const RULES: OptionRules = {
  ...OPTION_RULES,
  extensions: { ...OPTION.extensions, reserved: SERVICE_OPTION_NAMES },
}

/** The rules of the options that one call can change. */
const CALL_RULES: OptionRules = Object.fromEntries(ROWS.filter(([, row]) => !row.isFixed))

/**
 * Returns a new object with all options set, beside those of other packages.
 * @throws {TypeError} `Model` is missing, an option is unknown, or has an invalid value, or a text
 *   search could read hidden fields; names the option or the field
 */
export function resolveMongoDBOptions(options: MongoDBOptions): ResolvedMongoDBOptions {
  const given: unknown = options ?? {}
  // A collection in place of the options has much, and a `Model` is not among it.
  if (isObject(given) && !isPlainObject(given) && given['Model'] === undefined) {
    throw new TypeError(`${OWNER}: the options must be an object with 'Model', ${MODEL_EXPECTED}`)
  }
  checkOptions(OWNER, given, RULES)
  if (options?.Model === undefined) throw createOptionError('Model')
  const { extensions = {}, ...own } = options
  const settings = withDefaults<ResolvedMongoDBOptions>(
    { ...withDefaults({}, extensions), ...DEFAULTS, Model: options.Model },
    { ...own, limits: withDefaults(DEFAULT_LIMITS, own.limits ?? {}) },
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
