import { OptionError } from '../core/errors/setup-errors.ts'
import type { OptionRule, OptionRules } from '../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../core/options/option-check.ts'
import { SECRET_OPTION } from '../core/secrets/secret.ts'
import { SERVICE_OPTION_RULES } from '../core/services/service-options.ts'
import { isNonEmptyString, isObject, isPlainObject } from '../core/value-kind.ts'
import { INDEX_RULES, isIndexList, isModel, MODEL_EXPECTED } from './connection/model.ts'
import { isFieldName, isFieldPath, relate, withoutPositions } from './field-path.ts'
import type {
  MongoDBOptions,
  MongoDBSettings,
  QueryLimits,
  ResolvedMongoDBOptions,
} from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { findSearchLeak, isTextSearch } from './queries/query-filters.ts'
import { UPDATE_OPERATORS } from './writes/data-check.ts'

const METHODS: readonly unknown[] = ['create', 'patch', 'remove']
const MODES: readonly unknown[] = [
  ...['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'],
]
const LEVELS: readonly unknown[] = ['local', 'majority', 'linearizable', 'available', 'snapshot']

/** One option of the service: its rule and its default. */
interface OptionRow<Value> extends OptionRule {
  /** None for a required option, and for those that default to the collection's. */
  readonly default?: Value
  /** Whether `params.adapter` cannot change it for one call. */
  readonly isFixed?: true
}

/** The limits of a service that sets none. */
const DEFAULT_LIMITS: QueryLimits = {
  depth: 10,
  conditions: 150,
  values: 10_000,
  skip: 1_000_000,
  patternLength: 128,
  records: 1_000,
  timeMs: 5_000,
  stream: 0,
}

const BOUND: OptionRule = {
  expected: `${OPTION.count.expected}, or Infinity`,
  isValid: (value) => OPTION.count.isValid(value) || value === Number.POSITIVE_INFINITY,
}

/** The server reads 0 as no limit, and accepts 32 bits. */
const DURATION: OptionRule = {
  expected: `a whole number of milliseconds from 1 to ${2 ** 31 - 1}, or Infinity`,
  isValid: (value) =>
    value === Number.POSITIVE_INFINITY ||
    (OPTION.count.isValid(value) && Number(value) >= 1 && Number(value) < 2 ** 31),
}

const SWITCH: OptionRow<boolean> = { ...OPTION.boolean, default: false }

/** All options of the service. */
const OPTION_RULES: {
  readonly [Name in keyof MongoDBSettings]-?: OptionRow<MongoDBSettings[Name]>
} = {
  Model: { expected: MODEL_EXPECTED, isValid: isModel },
  id: {
    default: '_id',
    expected: 'the name of a field',
    isValid: isFieldName,
  },
  paginate: {
    default: false,
    expected: 'false or { default, max }, as { default: 10, max: 100 } is',
    isValid: (value) => value === false || isPlainObject(value),
    keys: {
      default: OPTION.count,
      max: OPTION.count,
      secret: SECRET_OPTION,
    },
  },
  multi: {
    default: false,
    expected: "true, false, or a list of 'create', 'patch' and 'remove'",
    isValid: (value) =>
      typeof value === 'boolean' || isListOf(value, (name) => METHODS.includes(name)),
  },
  operators: {
    default: [],
    expected: 'a list of operators, with $',
    isValid: (value) => isListOf(value, isOperator),
  },
  filters: {
    default: {},
    expected: 'an object of names with $, and true or a function for each',
    isValid: (value) =>
      isPlainObject(value) &&
      Object.entries(value).every(
        ([name, filter]) => isOperator(name) && (filter === true || typeof filter === 'function'),
      ),
  },
  updateOperators: {
    default: [],
    expected: `a list of dotted paths and of ${[...UPDATE_OPERATORS.keys()].join(' ')}`,
    isValid: (value) => isListOf(value, isUpdateName),
  },
  hidden: {
    default: [],
    expected: 'a list of field paths, without the id and without places in lists',
    // Paths are compared without list indexes, so a hidden `tags.0` would match nothing.
    isValid: (value) => isListOf(value, (path) => path !== '_id' && isPlainPath(path)),
  },
  version: {
    expected: 'the name of a field that is neither hidden nor the id',
    isValid: (value) => isFieldName(value) && value !== '_id',
    isFixed: true,
  },
  requireVersion: SWITCH,
  allowClientId: SWITCH,
  allowEmptyFilter: SWITCH,
  disableObjectify: SWITCH,
  useEstimatedDocumentCount: SWITCH,
  limits: {
    default: DEFAULT_LIMITS,
    expected: 'an object of numbers',
    isValid: isPlainObject,
    keys: {
      depth: BOUND,
      conditions: BOUND,
      values: BOUND,
      skip: BOUND,
      patternLength: BOUND,
      records: BOUND,
      timeMs: DURATION,
      stream: BOUND,
    },
  },
  indexes: {
    default: [],
    expected: 'a list of indexes, { key, unique, … }',
    isValid: isIndexList,
    keys: INDEX_RULES,
    isFixed: true,
  },
  shardKey: {
    default: [],
    expected: 'a list of field paths that are not hidden, without places in lists',
    isValid: (value) => isListOf(value, isPlainPath),
  },
  // With tags, it is a `ReadPreference` of the driver.
  readPreference: {
    expected: `one of ${MODES.join(', ')}, or a ReadPreference of the driver`,
    isValid: (value) => MODES.includes(isObject(value) ? value['mode'] : value),
  },
  readConcern: {
    expected: `{ level } with one of ${LEVELS.join(', ')}`,
    isValid: (value) => isObject(value) && LEVELS.includes(value['level']),
    // The driver's own rules check the level.
    keys: { level: { expected: '', isValid: () => true } },
  },
  writeConcern: {
    expected: '{ w, journal, wtimeoutMS }',
    isValid: isObject,
    keys: {
      // At least one server must confirm a write: without that, its result is unknown.
      w: {
        expected: "a whole number from 1 on, 'majority' or a tag",
        isValid: (value) => isNonEmptyString(value) || (OPTION.count.isValid(value) && value !== 0),
      },
      journal: OPTION.boolean,
      wtimeoutMS: OPTION.count,
    },
  },
  events: { ...OPTION.stringList, default: [], isFixed: true },
}

/** Names the owner of the options in errors. */
const OWNER = 'MongoDBService'

const ROWS = Object.entries(OPTION_RULES)

const DEFAULTS = Object.fromEntries(ROWS.map(([name, row]) => [name, row.default])) as Omit<
  MongoDBSettings,
  'Model'
>

/** The rules of all options. Names for other packages must not look like one of them. */
const RULES: OptionRules = {
  ...OPTION_RULES,
  extensions: { ...OPTION.extensions, reserved: Object.keys(SERVICE_OPTION_RULES) },
}

/** The rules of the options that one call can change. */
const CALL_OPTION_RULES: OptionRules = Object.fromEntries(ROWS.filter(([, row]) => !row.isFixed))

/**
 * Returns a new object with all options set; options of other packages are kept.
 * @throws {TypeError} `Model` is missing, an option is unknown or has an invalid value, or a text search
 *   could read hidden fields; names the option or the field
 */
export function resolveMongoDBOptions(options: MongoDBOptions): ResolvedMongoDBOptions {
  const given: unknown = options ?? {}
  // Catches a collection passed in place of the options: it has no `Model`.
  if (isObject(given) && !isPlainObject(given) && given['Model'] === undefined) {
    throw new OptionError(`${OWNER}: the options must be an object with 'Model', ${MODEL_EXPECTED}`)
  }
  checkOptions(OWNER, given, RULES)
  if (options?.Model === undefined) throw createOptionError('Model')
  const { extensions = {}, ...own } = options
  const settings = withDefaults<ResolvedMongoDBOptions>(
    { ...withDefaults({}, extensions), ...DEFAULTS, Model: options.Model },
    { ...own, limits: withDefaults(DEFAULT_LIMITS, own.limits ?? {}) },
  )
  if (settings.hidden.includes(settings.id)) throw createOptionError('hidden')
  // Every call must name its value, and external callers could not.
  const isHidden = (field: string): boolean => relate(field, settings.hidden) !== 'apart'
  if (settings.shardKey.some(isHidden)) throw createOptionError('shardKey')
  checkVersionOptions(settings)
  const leak = isTextSearch('$search', settings) ? findSearchLeak(settings) : undefined
  if (leak !== undefined) throw new OptionError(`${OWNER}: the option 'filters.$search': ${leak}`)
  return settings
}

/**
 * Returns the options for one call: the service's, `params.paginate`, then `params.adapter`.
 * @throws {TypeError} an option in them is unknown, or has an invalid value
 */
export function resolveCallSettings(
  settings: MongoDBSettings,
  params: MongoDBParams | undefined,
): MongoDBSettings {
  const { adapter } = params ?? {}
  // Feathers applications may set `true`, which has no page size and so turns pages off as `false` does.
  const paginate = (params?.paginate as unknown) === true ? false : params?.paginate
  if (paginate) checkOptions('params', { paginate }, { paginate: OPTION_RULES.paginate })
  const paged = paginate === undefined ? settings : { ...settings, paginate }
  if (adapter === undefined) return paged
  checkOptions('params.adapter', adapter, CALL_OPTION_RULES)
  const limits = withDefaults(settings.limits, adapter.limits ?? {})
  return withDefaults(paged, { ...adapter, limits })
}

/** @throws {TypeError} the version field has another use, or versions are required without a field */
function checkVersionOptions({ id, hidden, version, requireVersion }: MongoDBSettings): void {
  if (version === undefined) {
    if (requireVersion)
      throw new OptionError(`${OWNER}: 'requireVersion' needs the option 'version'`)
  } else if (version === id || relate(version, hidden) !== 'apart') {
    throw createOptionError('version')
  }
}

function createOptionError(name: keyof MongoDBSettings): TypeError {
  return new OptionError(`${OWNER}: the option '${name}' must be ${OPTION_RULES[name].expected}`)
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem)
}

function isOperator(name: unknown): boolean {
  return typeof name === 'string' && /^\$[^$.]+$/.test(name)
}

function isUpdateName(name: unknown): boolean {
  if (typeof name !== 'string') return false
  return UPDATE_OPERATORS.has(name) || (!name.startsWith('$') && name.includes('.'))
}

function isPlainPath(path: unknown): boolean {
  return isFieldPath(path) && withoutPositions(path) === path
}
