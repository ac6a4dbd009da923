import type { Collection, Document, FindCursor } from 'mongodb'

import type { Page } from '../core/params.ts'
import {
  callAdapter,
  checkOne,
  checkOutsideChange,
  checkSelect,
  toChecked,
} from './adapter-call.ts'
import { toCallSettings, withSettings } from './call-settings.ts'
import type { MongoDBOptions, MongoDBSettings } from './mongodb-options.ts'
import { resolveMongoDBOptions } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { checkMulti, checkWriteToMany, isExternal } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import { checkId } from './object-id.ts'
import { countRecords, findPage, getRecord, openCursor } from './queries/find.ts'
import { checkUnmixed, hasOperators } from './writes/update-document.ts'
import {
  createRecord,
  createRecords,
  patchRecord,
  patchRecords,
  removeRecord,
  removeRecords,
  updateRecord,
} from './writes/write.ts'
import { checkNewRecord, checkRecord, toRecords } from './writes/write-data.ts'

/** What `patch` takes: fields to set, update operators (`{ $inc: { age: 1 } }`), or both. */
export type PatchData<D> = Partial<D> | { readonly [operator: `$${string}`]: unknown }

/** What the service needs of its application. */
interface WithReadiness {
  readonly readiness: Map<string, () => Promise<unknown>>
}

/**
 * A service on a MongoDB collection. `find get create update patch remove` check the query, and the
 * data of callers outside; the methods with `_` in front of their name check neither and are for
 * trusted callers. Every operation on one record is one command to the server.
 *
 * `T` is a record, `D` the data that `create` and `update` take, `P` the params.
 *
 * All methods fail with an error of `remex/errors`: `BadRequest`, `NotFound`, `MethodNotAllowed`,
 * or what the database's error stands for; with a `TypeError` where `params.adapter` or
 * `params.docdb` has an unknown option. Callers outside get no field of the option `hidden`.
 */
export class MongoDBService<
  T extends Document = Document,
  D = Partial<T>,
  P extends MongoDBParams = MongoDBParams,
> {
  /** The options, read anew in each call: setting one changes the next call. */
  options: MongoDBSettings
  /** The field that ids refer to. */
  readonly id: string
  /** Names of further events that this service emits. */
  readonly events: readonly string[]

  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  constructor(options: MongoDBOptions) {
    this.options = resolveMongoDBOptions(options)
    this.id = this.options.id
    this.events = this.options.events
  }

  /** Resolves to a page `{ total, limit, skip, data }`, or to an array when pages are off. */
  find(params: P & { paginate: false }): Promise<T[]>
  find(params?: P): Promise<Page<T> | T[]>
  async find(params?: P): Promise<Page<T> | T[]> {
    return this._find(toChecked(params, this.options))
  }

  /** @throws {NotFound} no record has this id, or the query excludes it */
  async get(id: AdapterId, params?: P): Promise<T> {
    return this._get(id, toChecked(params, this.options))
  }

  /**
   * Resolves to the new record, or to the new records in the order of the data.
   * @throws {MethodNotAllowed} an array, and the option `multi` does not allow it
   */
  create(data: D, params?: P): Promise<T>
  create(data: D[], params?: P): Promise<T[]>
  create(data: D | D[], params?: P): Promise<T | T[]>
  async create(data: D | D[], params?: P): Promise<T | T[]> {
    const settings = toCallSettings(this.options, params)
    if (Array.isArray(data)) checkMulti('create', settings)
    if (isExternal(params)) {
      checkSelect(params?.query, settings)
      for (const record of toRecords(data)) checkNewRecord(record, settings)
    }
    return this._create(data, withSettings(params, this.options, settings))
  }

  /**
   * Resolves to the record after it was replaced by the data.
   * @throws {BadRequest} the id is `null`: many records can not be replaced by one
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  async update(id: AdapterId, data: D, params?: P): Promise<T> {
    checkOne(id, data)
    const settings = toCallSettings(this.options, params)
    if (isExternal(params)) checkOutsideChange(settings, id, data, params)
    return this._update(id, data, toChecked(params, this.options, settings))
  }

  /**
   * Resolves to the record after the change, with the id `null` to all records that match
   * the query.
   * @throws {MethodNotAllowed} the id is `null`, and the option `multi` does not allow it
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  patch(id: null, data: PatchData<D>, params?: P): Promise<T[]>
  patch(id: AdapterId, data: PatchData<D>, params?: P): Promise<T>
  patch(id: AdapterId | null, data: PatchData<D>, params?: P): Promise<T | T[]>
  async patch(id: AdapterId | null, data: PatchData<D>, params?: P): Promise<T | T[]> {
    const settings = toCallSettings(this.options, params)
    const checked = toChecked(params, this.options, settings)
    if (id === null) checkWriteToMany('patch', settings, checked)
    if (isExternal(params)) checkOutsideChange(settings, id, data, params)
    return this._patch(id, data, checked)
  }

  /**
   * Resolves to the record as it was, with the id `null` to all records that match the query.
   * @throws {MethodNotAllowed} the id is `null`, and the option `multi` does not allow it
   * @throws {NotFound} no record has this id, or the query excludes it
   */
  remove(id: null, params?: P): Promise<T[]>
  remove(id: AdapterId, params?: P): Promise<T>
  remove(id: AdapterId | null, params?: P): Promise<T | T[]>
  async remove(id: AdapterId | null, params?: P): Promise<T | T[]> {
    const settings = toCallSettings(this.options, params)
    const checked = toChecked(params, this.options, settings)
    if (id === null) checkWriteToMany('remove', settings, checked)
    return this._remove(id, checked)
  }

  /** `find` without hooks and without a check of the query. */
  _find(params: P & { paginate: false }): Promise<T[]>
  _find(params?: P): Promise<Page<T> | T[]>
  async _find(params?: P): Promise<Page<T> | T[]> {
    const settings = toCallSettings(this.options, params)
    return callAdapter('read', settings, params, findPage) as Promise<Page<T> | T[]>
  }

  /** `get` without hooks and without a check of the query. */
  async _get(id: AdapterId, params?: P): Promise<T> {
    checkId(id)
    const settings = toCallSettings(this.options, params)
    return callAdapter('read', settings, params, (call) => getRecord(call, id)) as Promise<T>
  }

  /** `create` without hooks and without a check of the data. */
  _create(data: D, params?: P): Promise<T>
  _create(data: D[], params?: P): Promise<T[]>
  _create(data: D | D[], params?: P): Promise<T | T[]>
  async _create(data: D | D[], params?: P): Promise<T | T[]> {
    const records = toRecords(data)
    const settings = toCallSettings(this.options, params)
    // Of the query, only the fields of the result matter: nothing is looked up.
    const selecting = { ...params, query: { $select: params?.query?.$select } }
    if (Array.isArray(data)) {
      checkMulti('create', settings)
      return callAdapter('create', settings, selecting, (call) =>
        createRecords(call, records),
      ) as Promise<T[]>
    }
    const [record = {}] = records
    return callAdapter('create', settings, selecting, (call) =>
      createRecord(call, record),
    ) as Promise<T>
  }

  /** `update` without hooks and without a check of query and data. */
  async _update(id: AdapterId, data: D, params?: P): Promise<T> {
    checkOne(id, data)
    checkId(id)
    checkUnmixed(data)
    const operation = hasOperators(data) ? 'patch' : 'update'
    const settings = toCallSettings(this.options, params)
    return callAdapter(operation, settings, params, (call) =>
      updateRecord(call, id, data),
    ) as Promise<T>
  }

  /** `patch` without hooks and without a check of query and data. */
  _patch(id: null, data: PatchData<D>, params?: P): Promise<T[]>
  _patch(id: AdapterId, data: PatchData<D>, params?: P): Promise<T>
  _patch(id: AdapterId | null, data: PatchData<D>, params?: P): Promise<T | T[]>
  async _patch(id: AdapterId | null, data: PatchData<D>, params?: P): Promise<T | T[]> {
    checkRecord(data)
    const settings = toCallSettings(this.options, params)
    if (id === null) {
      checkMulti('patch', settings)
      return callAdapter('patch of many', settings, params, (call) =>
        patchRecords(call, data),
      ) as Promise<T[]>
    }
    checkId(id)
    return callAdapter('patch', settings, params, (call) =>
      patchRecord(call, id, data),
    ) as Promise<T>
  }

  /** `remove` without hooks and without a check of the query. */
  _remove(id: null, params?: P): Promise<T[]>
  _remove(id: AdapterId, params?: P): Promise<T>
  _remove(id: AdapterId | null, params?: P): Promise<T | T[]>
  async _remove(id: AdapterId | null, params?: P): Promise<T | T[]> {
    const settings = toCallSettings(this.options, params)
    if (id === null) {
      checkMulti('remove', settings)
      return callAdapter('remove of many', settings, params, removeRecords) as Promise<T[]>
    }
    checkId(id)
    return callAdapter('remove', settings, params, (call) => removeRecord(call, id)) as Promise<T>
  }

  /** Lets the application be ready only while the collection can be reached. */
  async setup(app: WithReadiness, path: string): Promise<void> {
    const check = async (): Promise<number> => (await this.options.Model).estimatedDocumentCount()
    app.readiness.set(`mongodb ${path}`, check)
  }

  /** Makes the readiness of the application independent of the collection again. */
  async teardown(app: WithReadiness, path: string): Promise<void> {
    app.readiness.delete(`mongodb ${path}`)
  }

  /** Resolves to the collection of the service, `params.adapter.Model` first. */
  async getModel(params?: P): Promise<Collection> {
    return toCallSettings(this.options, params).Model
  }

  /** Resolves to a cursor over the records of a query, which is not checked. */
  async findRaw(params?: P): Promise<FindCursor> {
    const settings = toCallSettings(this.options, params)
    return callAdapter('cursor', settings, params, async (call) => openCursor(call))
  }

  /** Resolves to the number of records that match a query, which is not checked. */
  async countDocuments(params?: P): Promise<number> {
    const settings = toCallSettings(this.options, params)
    return callAdapter('read', settings, params, countRecords)
  }
}
