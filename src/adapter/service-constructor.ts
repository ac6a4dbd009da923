import type { Document } from 'mongodb'

import type { RecordQuery } from '../core/services/record-query.ts'
import type { NewRecord, PatchData } from './hookless-methods.ts'
import type {
  DefaultPaging,
  DefaultPagingOption,
  ListOption,
  ModelOption,
  MongoDBOptions,
  PagesOption,
  Paging,
  PagingOption,
} from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { MongoDBService as MongoDBServiceClass } from './mongodb-service.ts'

/**
 * A service on a MongoDB collection. `find get create update patch remove` check the query, and the
 * data of callers outside; the methods with `_` in front of their name check neither and are for
 * trusted callers. Every operation on one record is one command to the server.
 *
 * `T` is a record, `D` the data that `create` and `update` take, `P` the params, `U` the data that
 * `patch` takes, and `Kind` says whether `find` resolves to `'pages'`, as with records of a type it does
 * unless something else is said, or to a `'list'`.
 *
 * All methods fail with an error of `remex/errors`: `BadRequest`, `NotFound`, `MethodNotAllowed`,
 * or what the database's error stands for; with a `TypeError` where `params.adapter` or
 * `params.docdb` has an unknown option, or a promise of `Model` leads to no collection. Callers outside
 * get no field of the option `hidden`.
 */
export interface MongoDBService<
  T extends Document = Document,
  D = NewRecord<T>,
  P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
  U = PatchData<D>,
  Kind extends Paging = DefaultPaging<T>,
> extends MongoDBServiceClass<T, D, P, U, Kind> {}

/** A {@link MongoDBService} without pages, whose `find` resolves to a list of records. */
export type MongoDBListService<T extends Document, D = NewRecord<T>> = MongoDBService<
  T,
  D,
  MongoDBParams<RecordQuery<T>>,
  PatchData<D>,
  'list'
>

/** The options of a service on a collection whose records have a type. */
type TypedOptions<T extends Document> = MongoDBOptions &
  ModelOption<T> &
  (string extends keyof T ? never : object)

/**
 * Makes services. A class can not infer `'list'` from an option that is not there: constructors can,
 * those for calls without type arguments. They have more type parameters than anyone states, so that
 * a subclass, which states some, finds one of the last two alone.
 */
interface MongoDBServiceConstructor {
  /** Returns a service whose `find` resolves to pages. */
  new <T extends Document, _D, _P, _U, _Kind, _Inferred>(
    options: TypedOptions<T> & PagesOption,
  ): MongoDBService<
    T,
    NewRecord<T>,
    MongoDBParams<RecordQuery<T>>,
    PatchData<NewRecord<T>>,
    'pages'
  >
  /** Returns a service whose `find` resolves to lists. */
  new <T extends Document, _D, _P, _U, _Kind, _Inferred>(
    options: TypedOptions<T> & ListOption,
  ): MongoDBService<T, NewRecord<T>, MongoDBParams<RecordQuery<T>>, PatchData<NewRecord<T>>, 'list'>
  /** The same for a collection without a type, whose records have that of the place, or none. */
  new <T extends Document, _D, _P, _U, _Kind, _Inferred>(
    options: MongoDBOptions & PagesOption,
  ): MongoDBService<
    T,
    NewRecord<T>,
    MongoDBParams<RecordQuery<T>>,
    PatchData<NewRecord<T>>,
    'pages'
  >
  /** The same for lists. */
  new <T extends Document, _D, _P, _U, _Kind, _Inferred>(
    options: MongoDBOptions & ListOption,
  ): MongoDBService<T, NewRecord<T>, MongoDBParams<RecordQuery<T>>, PatchData<NewRecord<T>>, 'list'>
  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  new <
    T extends Document = Document,
    D = NewRecord<T>,
    P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
    U = PatchData<D>,
  >(
    options: MongoDBOptions & DefaultPagingOption<T>,
  ): MongoDBService<T, D, P, U>
  /** The same, with a stated kind of paging. */
  new <T extends Document, D, P extends MongoDBParams, U, Kind extends Paging>(
    options: MongoDBOptions & PagingOption<Kind>,
  ): MongoDBService<T, D, P, U, Kind>
  /** What `instanceof` tells: a service of records of any type. */
  // biome-ignore lint/suspicious/noExplicitAny: as the prototype of every generic class
  readonly prototype: MongoDBServiceClass<any, any, any, any, Paging>
}

/** The class of the services. */
// A cast: the compiler compares constructors with `any` for their type parameters, and `any` is pages
// and a list at once.
export const MongoDBService: MongoDBServiceConstructor =
  MongoDBServiceClass as MongoDBServiceConstructor
