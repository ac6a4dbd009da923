import type { Collection } from 'mongodb'
import type { OptionRule, OptionRules } from '../core/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../core/option-check.ts'
import { isObject, isPlainObject } from '../core/value-kind.ts'
import { isFieldPath, withoutPositions } from './field-path.ts'
import { UPDATE_OPERATORS } from './update-operators.ts'

/** A collection of any record type. */
// biome-ignore lint/suspicious/noExplicitAny: collections are invariant, and one of any record fits
export type AnyCollection = Collection<any>

/** Page sizes of `find`. Without `default` and `max` there are no pages. */
export interface Paginate {
  /** How many records a page holds when the query has no `$limit`. Turns pages on. */
  readonly default?: number
  /** The most records one `find` returns, whatever `$limit` says. */
  readonly max?: number
}

/** Methods that can write many records at once. */
export type MultiMethod = 'create' | 'patch' | 'remove'

/** Upper bounds for the queries of `find get update patch remove`. The `_` methods have none. */
export interface QueryLimits {
  /** Objects and lists inside each other. Default: 10. */
  readonly depth: number
  /**
   * Field names and operators in the whole query, alternatives of `$or` and `$and` too.
   * Default: 150.
   */
  readonly conditions: number
  /** Values in all lists of the query, those of `$in` for example. Default: 10,000. */
  readonly values: number
  /** The largest `$skip`. Default: 1,000,000. */
  readonly skip: number
}

/**
 * Handles a further `$name` at the top of a query: `true` keeps the value, a function converts it.
 */
export type QueryFilter = true | ((value: unknown, options: MongoDBSettings) => unknown)

/**
 * The options of a service after {@link resolveMongoDBOptions}; they are read anew in each call.
 */
export interface MongoDBSettings {
  /** The collection, or a promise of it. Required. */
  Model: AnyCollection | Promise<AnyCollection>
  /** The field that ids refer to. Default: `'_id'`. */
  id: string
  /** Page sizes, `false` for none. Default: `false`. */
  paginate: Paginate | false
  /**
   * Which methods may write many records: all (`true`), none (`false`) or a list. Default: `false`.
   */
  multi: boolean | readonly MultiMethod[]
  /**
   * Query operators that are allowed beside the built-in ones: `['$regex', '$exists']`.
   * Default: `[]`.
   */
  operators: readonly string[]
  /** Further `$names` at the top of a query. Default: `{}`. */
  filters: Readonly<Record<string, QueryFilter>>
  /** Update operators and dotted field names that callers outside may send. Default: `[]`. */
  updateOperators: readonly string[]
  /**
   * Fields that callers outside can write and nothing else, as paths with all that is below them:
   * `['password', 'profile.token']`. Default: `[]`.
   */
  hidden: readonly string[]
  /** Whether callers outside may choose the id of a new record. Default: `false`. */
  allowClientId: boolean
  /**
   * Whether callers outside may patch or remove all records by an empty query. Default: `false`.
   */
  allowEmptyFilter: boolean
  /** Leaves strings of 24 hexadecimal digits in `_id` as they are. Default: `false`. */
  disableObjectify: boolean
  /**
   * Counts a page's `total` by the collection's metadata when there is no condition.
   * Default: `false`.
   */
  useEstimatedDocumentCount: boolean
  /** Names of further events that the service emits. Default: `[]`. */
  events: readonly string[]
  /** Upper bounds for queries. */
  limits: QueryLimits
}

/** Options of {@link MongoDBService}; all but `Model` have a default. */
export interface MongoDBOptions
  extends Readonly<Partial<Omit<MongoDBSettings, 'Model' | 'limits'>>> {
  /** The collection, or a promise of it. */
  readonly Model: AnyCollection | Promise<AnyCollection>
  /** Upper bounds for queries; those that are not given keep their defaults. */
  readonly limits?: Readonly<Partial<QueryLimits>>
}

const DEFAULTS: Omit<MongoDBSettings, 'Model' | 'limits'> = {
  id: '_id',
  paginate: false,
  multi: false,
  operators: [],
  filters: {},
  updateOperators: [],
  hidden: [],
  allowClientId: false,
  allowEmptyFilter: false,
  disableObjectify: false,
  useEstimatedDocumentCount: false,
  events: [],
}

const DEFAULT_LIMITS: QueryLimits = {
  depth: 10,
  conditions: 150,
  values: 10_000,
  skip: 1_000_000,
}

const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem)
const isOperator = (value: unknown): boolean =>
  typeof value === 'string' && /^\$[^$.]+$/.test(value)

const BOUND: OptionRule = {
  expected: `${OPTION.count.expected}, or Infinity`,
  isValid: (value) => OPTION.count.isValid(value) || value === Number.POSITIVE_INFINITY,
}
/** Names the owner of the options in errors. */
const OWNER = 'MongoDBService'

const PAGINATE: OptionRule = {
  expected: 'false or { default, max }',
  isValid: (value) => value === false || isPlainObject(value),
  keys: { default: OPTION.count, max: OPTION.count },
}

/** The options that one call can change. */
const CALL_RULES: Readonly<Record<Exclude<keyof MongoDBSettings, 'events'>, OptionRule>> = {
  Model: {
    expected: 'a MongoDB collection, or a promise of one',
    isValid: isObject,
  },
  id: {
    expected: 'the name of a field',
    isValid: (value) => isFieldPath(value) && !value.includes('.'),
  },
  paginate: PAGINATE,
  multi: {
    expected: "true, false, or a list of 'create', 'patch' and 'remove'",
    isValid: (value) =>
      typeof value === 'boolean' ||
      isListOf(value, (item) => ['create', 'patch', 'remove'].includes(item as string)),
  },
  operators: {
    expected: 'a list of operators, with $',
    isValid: (value) => isListOf(value, isOperator),
  },
  filters: {
    expected: 'an object of names with $, and true or a function for each',
    isValid: (value) =>
      isPlainObject(value) &&
      Object.entries(value).every(
        ([name, filter]) => isOperator(name) && (filter === true || typeof filter === 'function'),
      ),
  },
  updateOperators: {
    expected: `a list of dotted paths and of ${[...UPDATE_OPERATORS.keys()].join(' ')}`,
    isValid: (value) => isListOf(value, isUpdateName),
  },
  hidden: {
    expected: 'a list of field paths, without the id and without places in lists',
    isValid: (value) => isListOf(value, isHideable),
  },
  allowClientId: OPTION.boolean,
  allowEmptyFilter: OPTION.boolean,
  disableObjectify: OPTION.boolean,
  useEstimatedDocumentCount: OPTION.boolean,
  limits: {
    expected: 'an object of numbers',
    isValid: isPlainObject,
    keys: { depth: BOUND, conditions: BOUND, values: BOUND, skip: BOUND },
  },
}

const RULES: OptionRules = {
  ...CALL_RULES,
  events: OPTION.stringList,
}

function isUpdateName(name: unknown): boolean {
  if (typeof name !== 'string') return false
  return UPDATE_OPERATORS.has(name) || (!name.startsWith('$') && name.includes('.'))
}

/** Paths are compared without places in lists, so that a hidden `tags.0` would match nothing. */
function isHideable(path: unknown): boolean {
  return isFieldPath(path) && path !== '_id' && withoutPositions(path) === path
}

/**
 * Returns a new object with all options set.
 * @throws {TypeError} `Model` is missing, an option is unknown, or has an invalid value
 */
export function resolveMongoDBOptions(options: MongoDBOptions): MongoDBSettings {
  const given: object = isPlainObject(options) ? options : {}
  checkOptions(OWNER, given, RULES)
  if (options?.Model === undefined) {
    throw new TypeError(`${OWNER}: the option 'Model' must be ${CALL_RULES.Model.expected}`)
  }
  const settings = withDefaults(
    { ...DEFAULTS, Model: options.Model, limits: DEFAULT_LIMITS },
    {
      ...options,
      limits: withDefaults(DEFAULT_LIMITS, options.limits ?? {}),
    },
  )
  if (settings.hidden.includes(settings.id)) {
    throw new TypeError(`${OWNER}: the option 'hidden' must be ${CALL_RULES.hidden.expected}`)
  }
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
  if (paginate) checkOptions('params', { paginate }, { paginate: PAGINATE })
  const paged = paginate === undefined ? settings : { ...settings, paginate }
  if (adapter === undefined) return paged
  checkOptions('params.adapter', adapter, CALL_RULES)
  const limits = withDefaults(settings.limits, adapter.limits ?? {})
  return withDefaults(paged, { ...adapter, limits })
}
