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
  /** The maximum number of records that one `find` returns, whatever `$limit` says. */
  readonly max?: number
  /**
   * The secret that encrypts page cursors, a string of at least 32 bytes. Default: the setting
   * `authentication.secret` of the application, else a random key of the process.
   */
  readonly secret?: string
}

/** Whether `find` resolves to pages or to lists. */
export type Paging = 'pages' | 'list'

/**
 * `Any` for records that may have any fields and declare none, else `Typed`. A record that declares fields
 * and allows others, as schemas with `additionalProperties` do, is typed.
 */
export type ByFields<T, Any, Typed> = string extends keyof T
  ? Record<never, never> extends Record<StatedName<T>, unknown>
    ? Any
    : Typed
  : Typed

type StatedName<T> = keyof { [Name in keyof T as string extends Name ? never : Name]: unknown }

/** The paging of a service that states none: pages for typed records, either kind for untyped ones. */
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
// Depends on the record type itself, not on its `DefaultPaging`: if that type is still a parameter, a page
// size fits both outcomes, so the compiler accepts it.
export type DefaultPagingOption<T> = ByFields<T, object, PagesOption>

/** Methods that can write many records at once. */
export type MultiMethod = 'create' | 'patch' | 'remove'

/**
 * Upper bounds for the queries of `find get update patch remove`, and for the data of `create`. The `_`
 * methods only have `timeMs`.
 */
export interface QueryLimits {
  /** Nesting depth of objects and lists. Default: 10. */
  readonly depth: number
  /** Field names and operators in the whole query, including those in `$or` and `$and`. Default: 150. */
  readonly conditions: number
  /** Values in all lists of the query, such as `$in`. Default: 10,000. */
  readonly values: number
  /** The largest `$skip`. Default: 1,000,000. */
  readonly skip: number
  /** Maximum length of a `$regex` in an external call, where it is allowed. Default: 128 characters. */
  readonly patternLength: number
  /**
   * Maximum number of records in one external `create`, where `multi` allows several; `Infinity` for no
   * limit. Default: 1,000.
   */
  readonly records: number
  /**
   * How long the database may work on an external read, in milliseconds; `Infinity` for no limit. Default:
   * 5,000.
   */
  readonly timeMs: number
  /**
   * Maximum number of records in one streamed response, which external callers request by
   * `Accept: application/x-ndjson` or `text/csv`; `Infinity` for no limit. Default: 0, no streams.
   */
  readonly stream: number
}

/** Handles an additional `$name` at the top of a query: `true` keeps the value, a function converts it. */
export type QueryFilter = true | ((value: unknown, options: MongoDBSettings) => unknown)

/** The options of a service after {@link resolveMongoDBOptions}. Each call reads them again. */
export interface MongoDBSettings {
  /**
   * The collection, a promise of it, or a function that returns either. A function is called once, when the
   * collection is first needed, and again after a failure. Required.
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
   * Query operators that are allowed in addition to the built-in ones: `['$regex', '$exists']`. Default:
   * `[]`.
   */
  operators: readonly string[]
  /**
   * Additional `$names` at the top of a query. `$search: true` allows text search in the collection's text
   * index, for strings of 1 to 256 characters. Default: `{}`.
   */
  filters: Readonly<Record<string, QueryFilter>>
  /** Update operators and dotted field names that external callers may send. Default: `[]`. */
  updateOperators: readonly string[]
  /**
   * Write-only fields: external callers can write them, but never read, query or sort by them. Paths,
   * including everything below them: `['password', 'profile.token']`. Default: `[]`.
   */
  hidden: readonly string[]
  /** Whether external callers may choose the id of a new record. Default: `false`. */
  allowClientId: boolean
  /**
   * The field of the version of each record: 1 when it is created, and one more with each write. A write can
   * require a version, by `params.version` or `If-Match`. Default: no versions.
   */
  version: string | undefined
  /**
   * Whether external callers must name the version of the record that they change or remove. Default:
   * `false`.
   */
  requireVersion: boolean
  /** Whether external callers may patch or remove all records by an empty query. Default: `false`. */
  allowEmptyFilter: boolean
  /** Leaves strings of 24 hexadecimal digits in `_id` as they are. Default: `false`. */
  disableObjectify: boolean
  /**
   * Counts a page's `total` by the collection's metadata when there is no condition.
   * Default: `false`.
   */
  useEstimatedDocumentCount: boolean
  /** Names of additional events that the service emits. Default: `[]`. */
  events: readonly string[]
  /** Upper bounds for queries. */
  limits: QueryLimits
  /**
   * Indexes, each `{ key: { email: 1 }, unique: true, name, … }`: missing ones are created when the
   * application is set up, which fails if one cannot be created. Default: `[]`.
   */
  indexes: readonly IndexDescription[]
  /**
   * The fields of the collection's shard key, hashed or not: `['tenant', '_id']`. Calls on one record must
   * then have a single value for each of them in the query, so that the command goes to one shard; `update`
   * also takes the values from its data. New records must have these fields, and they cannot change. Default:
   * `[]`.
   */
  shardKey: readonly string[]
  /** Which servers `find` and `get` read from. Default: that of the collection. */
  readPreference: ReadPreferenceLike | undefined
  /** Which writes `find` and `get` see. Default: that of the collection. */
  readConcern: Readonly<Record<'level', ReadConcernLevel>> | undefined
  /** How many servers confirm a write. Default: that of the collection. */
  writeConcern: Pick<WriteConcernSettings, 'w' | 'journal' | 'wtimeoutMS'> | undefined
}

/** The member `options` of a service: its own, and those of other packages. */
export type ResolvedMongoDBOptions = MongoDBSettings & GivenExtensions

/** The options of {@link MongoDBService} that have a default. */
export interface OptionalMongoDBOptions
  extends Readonly<Partial<Omit<MongoDBSettings, 'Model' | 'limits'>>> {
  /** Upper bounds for queries; those that are not given keep their defaults. */
  readonly limits?: Readonly<Partial<QueryLimits>>
  /** Options that other packages read: `{ casl }` becomes `service.options.casl`. Default: none. */
  readonly extensions?: GivenExtensions
}

/** Options of {@link MongoDBService}; all but `Model` have a default. */
export interface MongoDBOptions extends OptionalMongoDBOptions {
  /** The collection, a promise of it, or a function that returns either. */
  readonly Model: MongoDBSettings['Model']
}

/** The option `Model`, from which the type of the records is inferred. */
export interface ModelOption<T extends Document> {
  /** The collection, a promise of it, or a function that returns either. */
  readonly Model:
    | Collection<T>
    | Promise<Collection<T>>
    | (() => Collection<T> | Promise<Collection<T>>)
}
