import type { Document } from 'mongodb'

import type { Page } from '../core/params.ts'
import type { FieldName, RecordQuery, Selected, Selecting } from '../core/services/record-query.ts'
import { checkChangeData, checkOne, checkSelect, toChecked } from './adapter-call.ts'
import { toCallSettings, withSettings } from './call-settings.ts'
import type { Found, NewRecord, Paged, PatchData } from './hookless-methods.ts'
import { HooklessMethods } from './hookless-methods.ts'
import type { DefaultPaging, PagesOption, Paging } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { checkMulti, checkWriteToMany, isExternal } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import { checkReservedNames } from './writes/data-check.ts'
import type { UnreadParams, WriteCount } from './writes/unread-write.ts'
import { checkNewRecords } from './writes/write-data.ts'

/** The methods of a service; users get them as `MongoDBService` of `service-constructor`. */
export class MongoDBService<
  T extends Document = Document,
  D = NewRecord<T>,
  P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
  U = PatchData<D>,
  Kind extends Paging = DefaultPaging<T>,
> extends HooklessMethods<T, D, P, U, Kind> {
  /**
   * Written out, because bundlers rename the class: its public name is that of another constant.
   */
  static override readonly name: string = 'MongoDBService'

  /**
   * Resolves to a page `{ total, limit, skip, data }`, or to an array when pages are off; records have
   * the fields that `$select` names.
   */
  find<Name extends FieldName<T>>(
    params: P & Selecting<Name> & { paginate: false },
  ): Promise<Selected<T, Name>[]>
  find<Name extends FieldName<T>>(
    params: P & Selecting<Name> & { paginate?: undefined },
  ): Promise<Found<Selected<T, Name>, Kind>>
  find(params: P & { paginate: false }): Promise<T[]>
  find(params: P & PagesOption): Promise<Found<T, Paged<Kind>>>
  find(params?: P): Promise<Found<T, Kind>>
  async find(params?: P): Promise<Page<T> | T[]> {
    return this._find(toChecked(params, this))
  }

  /** @throws {NotFound} no record has this id, or the query excludes it */
  get<Name extends FieldName<T>>(
    id: AdapterId,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  get(id: AdapterId, params?: P): Promise<T>
  async get(id: AdapterId, params?: P): Promise<T> {
    return this._get(id, toChecked(params, this))
  }

  /**
   * Resolves to the new record, or to the new records in the order of the data.
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
    const settings = toCallSettings(this.options, params)
    if (Array.isArray(data)) checkMulti('create', settings)
    if (isExternal(params)) {
      checkSelect(params?.query, settings)
      checkNewRecords(data, settings)
    } else checkReservedNames(data)
    return this._create(data, withSettings(params, this.options, settings))
  }

  /**
   * Resolves to the record after it was replaced by the data.
   * @throws {BadRequest} the id is `null`: many records can not be replaced by one
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
    const settings = toCallSettings(this.options, params)
    checkChangeData(settings, id, data, params)
    return this._update(id, data, toChecked(params, this, settings))
  }

  /**
   * Resolves to the record after the change, with the id `null` to all records that match
   * the query, or to their number with `params.docdb.returning: false`.
   * @throws {MethodNotAllowed} the id is `null`, and the option `multi` does not allow it
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  patch(id: null, data: U, params: P & UnreadParams): Promise<WriteCount>
  patch<Name extends FieldName<T>>(
    id: null,
    data: U,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>[]>
  patch<Name extends FieldName<T>>(
    id: AdapterId,
    data: U,
    params: P & Selecting<Name>,
  ): Promise<Selected<T, Name>>
  patch(id: null, data: U, params?: P): Promise<T[]>
  patch(id: AdapterId, data: U, params?: P): Promise<T>
  patch(id: AdapterId | null, data: U, params?: P): Promise<T | T[]>
  async patch(id: AdapterId | null, data: U, params?: P): Promise<T | T[] | WriteCount> {
    const settings = toCallSettings(this.options, params)
    const checked = toChecked(params, this, settings)
    if (id === null) checkWriteToMany('patch', settings, checked)
    checkChangeData(settings, id, data, params)
    return this._patch(id, data, checked)
  }

  /**
   * Resolves to the record as it was, with the id `null` to all records that match the query, or to
   * their number with `params.docdb.returning: false`.
   * @throws {MethodNotAllowed} the id is `null`, and the option `multi` does not allow it
   * @throws {NotFound} no record has this id, or the query excludes it
   */
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
  remove(id: AdapterId | null, params?: P): Promise<T | T[]>
  async remove(id: AdapterId | null, params?: P): Promise<T | T[] | WriteCount> {
    const settings = toCallSettings(this.options, params)
    const checked = toChecked(params, this, settings)
    if (id === null) checkWriteToMany('remove', settings, checked)
    return this._remove(id, checked)
  }
}
