import type { Document } from 'mongodb'
import type { WithMulti } from '../core/method-arguments.ts'
import type { Page } from '../core/params.ts'
import type { FieldName, RecordQuery, Selected, Selecting } from '../core/services/record-query.ts'
import { readFacts } from './adapter-call.ts'
import { addFeatures } from './adapter-features.ts'
import {
  checkChangeData,
  checkMulti,
  checkNewData,
  checkOne,
  checkPreconditions,
  checkWriteToMany,
  sanitizeParams,
} from './call-checks.ts'
import type { AnyPatch, Found, NewRecord, Paged } from './hookless-service.ts'
import { HooklessService } from './hookless-service.ts'
import type {
  DefaultPaging,
  DefaultPagingOption,
  ListOption,
  ModelOption,
  MongoDBOptions,
  OptionalMongoDBOptions,
  PagesOption,
  Paging,
} from './mongodb-options.ts'
import type { AnyDriver, AnyPaginate, MongoDBParams } from './mongodb-params.ts'
import type { AdapterId, NullableAdapterId } from './object-id.ts'
import type { UnreadParams, WriteCount } from './writes/write-many.ts'

/** The methods of a service, with the kind of paging that {@link MongoDBService} infers from the options. */
export class CheckedService<
  T extends Document,
  D,
  P extends MongoDBParams,
  Kind extends Paging,
> extends HooklessService<T, D, P, Kind> {
  /**
   * Written out, because bundlers rename the class: its public name is that of another constant.
   */
  static override readonly name: string = 'MongoDBService'

  /**
   * Resolves to a page `{ total, limit, skip, data }`, or to an array when pages are off; records have
   * the fields that `$select` names. With `$after`, `$before` or `$total` the page has cursors: {@link Page}.
   */
  find(params: AnyPaginate): Promise<Found<T, Kind>>
  find<Name extends FieldName<T>>(
    params: P & Selecting<Name> & { paginate: false },
  ): Promise<Selected<T, Name>[]>
  find<Name extends FieldName<T>>(
    params: P & Selecting<Name> & { paginate?: undefined },
  ): Promise<Found<Selected<T, Name>, Kind>>
  find(params: P & { paginate: false }): Promise<T[]>
  find(params: P & PagesOption): Promise<Found<T, Paged<Kind>>>
  find(params?: P): Promise<Found<T, Kind>>
  async find(params?: P | AnyPaginate): Promise<Page<T> | T[]> {
    return this._find(sanitizeParams(params as P | undefined, this))
  }

  /** @throws {NotFound} no record has this id, or the query excludes it */
  get<Name extends FieldName<T>>(
    id: AdapterId,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  get(id: AdapterId, params?: P): Promise<T>
  async get(id: AdapterId, params?: P): Promise<T> {
    return this._get(id, sanitizeParams(params, this))
  }

  /**
   * Resolves to the new record as it is stored, or to the new records in the order of the data. Of up to
   * 1,000 records, all are stored or none; a standalone server may store some, and the error then has an
   * `outcome`.
   * @throws {MethodNotAllowed} an array, and the option `multi` does not allow it
   */
  create<Name extends FieldName<T>>(
    data: D,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  create<Name extends FieldName<T>>(
    data: D[],
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>[]>
  create(data: D, params?: P): Promise<T>
  create(data: D[], params?: P): Promise<T[]>
  create(data: D | D[], params?: P): Promise<T | T[]>
  async create(data: D | D[], params?: P): Promise<T | T[]> {
    const facts = readFacts(this, params)
    if (Array.isArray(data)) checkMulti('create', facts.settings)
    checkNewData(this, facts, data, params)
    return this._create(data, params)
  }

  /**
   * Resolves to the record as replaced by the data.
   * @throws {PreconditionFailed} the record has another version than `params.version`, or the data, says
   * @throws {BadRequest} the id is `null`: one record cannot replace many
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  update<Name extends FieldName<T>>(
    id: AdapterId,
    data: D,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  update(id: AdapterId, data: D, params?: P): Promise<T>
  async update(id: AdapterId, data: D, params?: P): Promise<T> {
    checkOne(id, data)
    const facts = readFacts(this, params)
    checkChangeData(this, facts, id, data, params)
    return this._update(id, data, sanitizeParams(params, this, facts))
  }

  /**
   * Resolves to the changed record; with the id `null`, to all records that match the query, or to their
   * number with `params.docdb.returning: false`.
   * @throws {MethodNotAllowed} the id is `null`, and the option `multi` does not allow it
   * @throws {PreconditionFailed} the record has another version than `params.version`, or the data, says
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  patch(id: null, data: AnyPatch<T, D>, params: AnyDriver): Promise<T[]>
  patch(id: null, data: AnyPatch<T, D>, params: P & UnreadParams): Promise<WriteCount>
  patch<Name extends FieldName<T>>(
    id: null,
    data: AnyPatch<T, D>,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>[]>
  patch<Name extends FieldName<T>>(
    id: AdapterId,
    data: AnyPatch<T, D>,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  patch(id: null, data: AnyPatch<T, D>, params?: P): Promise<T[]>
  patch(id: AdapterId, data: AnyPatch<T, D>, params?: P): Promise<T>
  patch(id: NullableAdapterId, data: AnyPatch<T, D>, params?: P): Promise<T | T[]>
  async patch(
    id: NullableAdapterId,
    data: AnyPatch<T, D>,
    given?: P | AnyDriver,
  ): Promise<T | T[] | WriteCount> {
    // `AnyDriver` only types the overload for params of type `any`.
    const params = given as P | undefined
    const facts = readFacts(this, params)
    const checked = sanitizeParams(params, this, facts)
    if (id === null) checkWriteToMany('patch', facts, checked)
    checkChangeData(this, facts, id, data, params)
    return this._patch(id, data, checked)
  }

  /**
   * Resolves to the record as it was; with the id `null`, to all records that match the query, or to their
   * number with `params.docdb.returning: false`.
   * @throws {MethodNotAllowed} the id is `null`, and the option `multi` does not allow it
   * @throws {PreconditionFailed} the record has another version than `params.version` says
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  remove(id: null, params: AnyDriver): Promise<T[]>
  remove(id: null, params: P & UnreadParams): Promise<WriteCount>
  remove<Name extends FieldName<T>>(
    id: null,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>[]>
  remove<Name extends FieldName<T>>(
    id: AdapterId,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  remove(id: null, params?: P): Promise<T[]>
  remove(id: AdapterId, params?: P): Promise<T>
  remove(id: NullableAdapterId, params?: P): Promise<T | T[]>
  async remove(id: NullableAdapterId, given?: P | AnyDriver): Promise<T | T[] | WriteCount> {
    // `AnyDriver` only types the overload for params of type `any`.
    const params = given as P | undefined
    const facts = readFacts(this, params)
    const checked = sanitizeParams(params, this, facts)
    if (id === null) checkWriteToMany('remove', facts, checked)
    checkPreconditions(this, facts, params)
    return this._remove(id, checked)
  }
}

addFeatures(CheckedService.prototype)

/**
 * A service on a MongoDB collection. `find get create update patch remove` check the query, and external
 * data; the methods prefixed with `_` check neither and are for trusted callers. Every operation on one
 * record is one command to the server.
 *
 * `T` is a record, `D` the data that `create` and `update` take, and `P` the params. `patch` takes fields of
 * both. With typed records, `find` resolves to pages, which the option `paginate` has to turn on.
 *
 * All methods fail with an error of `remex/errors`: `BadRequest`, `NotFound`, `MethodNotAllowed`, or the one
 * that the database's error maps to; with a `TypeError` if `params.adapter` or `params.docdb` has an unknown
 * option, or the promise of `Model` gives no collection. External callers never get fields of the option
 * `hidden`.
 */
export interface MongoDBService<
  T extends Document = Document,
  D = NewRecord<T>,
  P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
> extends CheckedService<T, D, P, DefaultPaging<T>> {}

/** A {@link MongoDBService} without pages: `find` resolves to a list of records. */
export interface MongoDBListService<
  T extends Document = Document,
  D = NewRecord<T>,
  P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
> extends CheckedService<T, D, P, 'list'> {}

/**
 * What `new MongoDBService(options)` returns without stated types, as a name for declarations: a
 * {@link MongoDBService} whose `Kind`, `'pages'` or `'list'`, is inferred from the option `paginate`, and
 * `Multi` from the option `multi`.
 */
export interface InferredMongoDBService<
  T extends Document,
  D,
  P extends MongoDBParams,
  Kind extends Paging,
  Multi = boolean,
> extends CheckedService<T, D, P, Kind>,
    WithMulti<Multi> {}

/** The options of a service, by which its types are known. */
// Only one constituent has `Model`. With a collection of two types at once, the compiler would compare each
// method of the driver for each service.
type InferringOptions<T extends Document, Multi> = OptionalMongoDBOptions &
  ModelOption<T> & { readonly multi?: Multi }

/**
 * Creates services whose types are inferred from the options: a type that cannot be inferred is its
 * constraint. The first four have no default, so that a subclass, which states at most three, finds another
 * constructor.
 */
interface InferringConstructor<Kind extends Paging, PagingOption> {
  new <
    T extends Document,
    D extends NewRecord<T>,
    P extends MongoDBParams<RecordQuery<T>>,
    K extends Kind,
    Multi extends MongoDBOptions['multi'] = false,
  >(
    options: InferringOptions<T, Multi> & PagingOption,
  ): InferredMongoDBService<T, D, P, K, Multi>
}

/** What `instanceof` tells: a service of records of any type. */
type WithPrototype = Pick<typeof CheckedService, 'prototype'>

/** Creates services with stated types, and is the class to extend. */
interface StatedConstructor extends WithPrototype {
  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  new <
    T extends Document = Document,
    D = NewRecord<T>,
    P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
  >(
    options: MongoDBOptions & DefaultPagingOption<T>,
  ): MongoDBService<T, D, P>
}

/** The same for services without pages. */
interface ListConstructor extends WithPrototype {
  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  new <
    T extends Document = Document,
    D = NewRecord<T>,
    P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
  >(
    options: MongoDBOptions & ListOption,
  ): MongoDBListService<T, D, P>
}

/** The class of the services. */
// The compiler takes the first constructor that fits. A class cannot infer `'list'` from a missing option.
export const MongoDBService: InferringConstructor<'pages', PagesOption> &
  InferringConstructor<'list', ListOption> &
  StatedConstructor = CheckedService as never

/** The same class, for services without pages: `class TagService extends MongoDBListService<Tag> {}`. */
export const MongoDBListService: ListConstructor = CheckedService as never
