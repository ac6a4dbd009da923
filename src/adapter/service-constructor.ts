import type { Document } from 'mongodb'

import type { RecordQuery } from '../core/record-query.ts'
import type { NewRecord, PatchData } from './hookless-methods.ts'
import type {
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
 * A service on a MongoDB collection. `T` is a record, `D` the data that `create` and `update` take,
 * `P` the params, `U` the data that `patch` takes, and `Kind` says whether `find` resolves to
 * `'pages'` or to a `'list'`.
 */
export type MongoDBService<
  T extends Document = Document,
  D = NewRecord<T>,
  P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
  U = PatchData<D>,
  Kind extends Paging = Paging,
> = MongoDBServiceClass<T, D, P, U, Kind>

/** The options of a service on a collection whose records have a type. */
type TypedOptions<T extends Document> = MongoDBOptions &
  ModelOption<T> &
  (string extends keyof T ? never : object)

/**
 * Makes services. A class can not infer `'list'` from an option that is not there: constructors can,
 * those for calls without type arguments. They have more type parameters than anyone states, so that
 * a subclass, which states some, finds the last one alone. What they return is written out: declarations
 * of users name a type by the alias that made it, and they can import this one alone.
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
  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  new <
    T extends Document = Document,
    D = NewRecord<T>,
    P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
    U = PatchData<D>,
    Kind extends Paging = Paging,
  >(
    options: MongoDBOptions & PagingOption<Kind>,
  ): MongoDBService<T, D, P, U, Kind>
  /** What `instanceof` tells: a service of records of any type. */
  // biome-ignore lint/suspicious/noExplicitAny: as the prototype of every generic class
  readonly prototype: MongoDBServiceClass<any, any, any, any, Paging>
}

/** The class of the services. */
export const MongoDBService: MongoDBServiceConstructor = MongoDBServiceClass
