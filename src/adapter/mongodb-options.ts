import type { Collection } from 'mongodb'

import { isPlainObject } from './plain-object.ts'

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
  /** Field names and operators in the whole query, alternatives of `$or` and `$and` too. Default: 150. */
  readonly conditions: number
  /** Values in all lists of the query, those of `$in` for example. Default: 10,000. */
  readonly values: number
  /** The largest `$skip`. Default: 1,000,000. */
  readonly skip: number
}

/** Handles a further `$name` at the top of a query: `true` keeps the value, a function converts it. */
export type QueryFilter = true | ((value: unknown, options: MongoDBSettings) => unknown)

/** The options of a service after {@link resolveMongoDBOptions}; they are read anew in each call. */
export interface MongoDBSettings {
  /** The collection, or a promise of it. Required. */
  Model: AnyCollection | Promise<AnyCollection>
  /** The field that ids refer to. Default: `'_id'`. */
  id: string
  /** Page sizes, `false` for none. Default: `false`. */
  paginate: Paginate | false
  /** Which methods may write many records: all (`true`), none (`false`) or a list. Default: `false`. */
  multi: boolean | readonly MultiMethod[]
  /** Query operators that are allowed beside the built-in ones: `['$regex', '$exists']`. Default: `[]`. */
  operators: readonly string[]
  /** Further `$names` at the top of a query. Default: `{}`. */
  filters: Readonly<Record<string, QueryFilter>>
  /** Update operators and dotted field names that callers outside may send. Default: `[]`. */
  updateOperators: readonly string[]
  /** Whether callers outside may patch or remove all records by an empty query. Default: `false`. */
  allowEmptyFilter: boolean
  /** Leaves strings of 24 hexadecimal digits in `_id` as they are. Default: `false`. */
  disableObjectify: boolean
  /** Counts a page's `total` by the collection's metadata when there is no condition. Default: `false`. */
  useEstimatedDocumentCount: boolean
  /** Names of further events that the service emits. Default: `[]`. */
  events: readonly string[]
  /** Upper bounds for queries. */
  limits: QueryLimits
}

/** Options of {@link MongoDBService}; all but `Model` have a default. */
export interface MongoDBOptions
  extends Readonly<Partial<Omit<MongoDBSettings, 'Model' | 'limits'>>> {
  readonly Model: AnyCollection | Promise<AnyCollection>
  readonly limits?: Readonly<Partial<QueryLimits>>
}

const DEFAULTS: Omit<MongoDBSettings, 'Model' | 'limits'> = {
  id: '_id',
  paginate: false,
  multi: false,
  operators: [],
  filters: {},
  updateOperators: [],
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

/**
 * Returns a new object with all options set.
 * @throws {TypeError} `Model` is missing, or an operator name does not begin with `$`
 */
export function resolveMongoDBOptions(options: MongoDBOptions): MongoDBSettings {
  if (!isPlainObject(options) || typeof options.Model !== 'object') {
    throw new TypeError("The option 'Model' must be a MongoDB collection, or a promise of one")
  }
  const names = [...(options.operators ?? []), ...Object.keys(options.filters ?? {})]
  const wrong = names.find((name) => !name.startsWith('$'))
  if (wrong !== undefined) {
    throw new TypeError(`The options 'operators' and 'filters' take names with '$', not '${wrong}'`)
  }
  return { ...DEFAULTS, ...options, limits: { ...DEFAULT_LIMITS, ...options.limits } }
}
