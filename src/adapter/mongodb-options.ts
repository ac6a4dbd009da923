import type {
  Collection,
  Document,
  IndexDescription,
  ReadConcernLevel,
  ReadPreferenceLike,
  WriteConcernSettings,
} from 'mongodb'

import type { GivenExtensions } from '../core/declared-types.ts'

/** A collection of any record type. */
// biome-ignore lint/suspicious/noExplicitAny: collections are invariant, and one of any record fits
export type AnyCollection = Collection<any>

/** Page sizes of `find`. Without `default` and `max` there are no pages. */
export interface Paginate {
  /** How many records a page holds when the query has no `$limit`. Turns pages on. */
  readonly default?: number
  /** The most records one `find` returns, whatever `$limit` says. */
  readonly max?: number
  /**
   * What the cursors of pages are encrypted by, a string of at least 32 bytes. Default: the setting
   * `authentication.secret` of the application, else a key that ends with the process.
   */
  readonly secret?: string
}

/** Whether `find` resolves to pages or to lists. */
export type Paging = 'pages' | 'list'

/**
 * `Any` for records that may have any fields and state none, else `Typed`. A record with further fields of
 * any name, as schemas with `additionalProperties` make it, has a type.
 */
export type ByFields<T, Any, Typed> = string extends keyof T
  ? Record<never, never> extends Record<StatedName<T>, unknown>
    ? Any
    : Typed
  : Typed

type StatedName<T> = keyof { [Name in keyof T as string extends Name ? never : Name]: unknown }

/** The paging of a service that states none: pages for records of a type, either for any records. */
export type DefaultPaging<T> = ByFields<T, Paging, 'pages'>

/** A size that turns pages on. */
export interface PageSize extends Paginate {
  /** How many records a page holds when the query has no `$limit`. */
  readonly default: number
}

/** The option `paginate` of a service that has pages. */
export interface PagesOption {
  /** Page sizes. */
  readonly paginate: PageSize
}

/** The option `paginate` of a service that has no pages. */
export interface ListOption {
  /** No pages: at most an upper bound for `$limit`. */
  readonly paginate?: false | { readonly default?: never; readonly max?: number }
}

/** The option `paginate` of a service that states no kind of paging. */
// Asks for the record type itself, not for its `DefaultPaging`: where that type is still a parameter, a
// page size fits both outcomes here, and the compiler takes it.
export type DefaultPagingOption<T> = ByFields<T, object, PagesOption>

/** Methods that can write many records at once. */
export type MultiMethod = 'create' | 'patch' | 'remove'

/**
 * Upper bounds for the queries of `find get update patch remove`, and for the data of `create`. The `_`
 * methods have none but `timeMs`.
 */
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
  /** Characters of a `$regex` of a caller outside, where it is allowed. Default: 128. */
  readonly patternLength: number
  /**
   * Records in one `create` of a caller outside, where `multi` allows several; `Infinity` for any number.
   * Default: 1,000.
   */
  readonly records: number
  /**
   * How long the database may work on a read of a caller outside, in milliseconds; `Infinity` for
   * as long as it takes. Default: 5,000.
   */
  readonly timeMs: number
  /**
   * Records in one stream of a caller outside, who asks for it by `Accept: application/x-ndjson` or
   * `text/csv`; `Infinity` for any number. Default: 0, there are no streams.
   */
  readonly stream: number
}

/**
 * Handles a further `$name` at the top of a query: `true` keeps the value, a function converts it.
 */
export type QueryFilter = true | ((value: unknown, options: MongoDBSettings) => unknown)

/**
 * The options of a service after {@link resolveMongoDBOptions}; they are read anew in each call.
 */
export interface MongoDBSettings {
  /**
   * The collection, a promise of it, or a function that returns either. The function is called once,
   * at the first need, and again after a failure. Required.
   */
  Model: AnyCollection | Promise<AnyCollection> | (() => AnyCollection | Promise<AnyCollection>)
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
  /**
   * Further `$names` at the top of a query. `$search: true` searches the text index of the collection,
   * for strings of 1 to 256 characters. Default: `{}`.
   */
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
   * The field of the version of each record: 1 when it is created, and one more with each write. Writes
   * can have a version as their condition, by `params.version` or `If-Match`. Default: no versions.
   */
  version: string | undefined
  /**
   * Whether callers outside have to name the version of the record that they change or remove. Default:
   * `false`.
   */
  requireVersion: boolean
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
  /**
   * Indexes, each `{ key: { email: 1 }, unique: true, name, … }`: those that are not there are
   * created when the application is set up, which fails where one can not be. Default: `[]`.
   */
  indexes: readonly IndexDescription[]
  /**
   * The fields of the collection's shard key, hashed or not: `['tenant', '_id']`. One record is then
   * read, changed and removed by queries that have one value for each of them alone, so that the
   * command goes to one shard; `update` takes the values of its data as well. New records must have
   * them, and they do not change. Default: `[]`.
   */
  shardKey: readonly string[]
  /** Which servers `find` and `get` read from. Default: that of the collection. */
  readPreference: ReadPreferenceLike | undefined
  /** Which writes `find` and `get` see. Default: that of the collection. */
  readConcern: Readonly<Record<'level', ReadConcernLevel>> | undefined
  /** How many servers confirm a write. Default: that of the collection. */
  writeConcern: Pick<WriteConcernSettings, 'w' | 'journal' | 'wtimeoutMS'> | undefined
}

/** What a service has as `options`: its own, and those of other packages. */
export type ResolvedMongoDBOptions = MongoDBSettings & GivenExtensions

/** The options of {@link MongoDBService} that have a default. */
export interface OptionalMongoDBOptions
  extends Readonly<Partial<Omit<MongoDBSettings, 'Model' | 'limits'>>> {
  /** Upper bounds for queries; those that are not given keep their defaults. */
  readonly limits?: Readonly<Partial<QueryLimits>>
  /**
   * Options that other packages read, where they find them: `{ casl }` is `service.options.casl`.
   * Default: none.
   */
  readonly extensions?: GivenExtensions
}

/** Options of {@link MongoDBService}; all but `Model` have a default. */
export interface MongoDBOptions extends OptionalMongoDBOptions {
  /** The collection, a promise of it, or a function that returns either. */
  readonly Model: MongoDBSettings['Model']
}

/** The option `Model` by which the type of the records is known. */
export interface ModelOption<T extends Document> {
  /** The collection, a promise of it, or a function that returns either. */
  readonly Model:
    | Collection<T>
    | Promise<Collection<T>>
    | (() => Collection<T> | Promise<Collection<T>>)
}
