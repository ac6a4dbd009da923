import type { Document } from 'mongodb'

import type { Page } from '../core/params.ts'
import type { RecordQuery } from '../core/services/record-query.ts'
import { callAdapter, checkOne } from './adapter-call.ts'
import { toCallSettings } from './call-settings.ts'
import { CollectionAccess } from './collection-access.ts'
import type { DefaultPaging, PagesOption, Paging } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { checkMulti } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import { checkId } from './object-id.ts'
import { toCommands } from './record-commands.ts'
import type { UnreadParams, WriteCount } from './writes/unread-write.ts'
import { checkUnmixed, hasOperators } from './writes/update-document.ts'
import { checkRecord, toRecords } from './writes/write-data.ts'

/** The fields of a record whose id is still to come. */
export type NewRecord<T> = string extends keyof T
  ? T
  : Omit<T, '_id'> & Partial<Pick<T, '_id' & keyof T>>

/**
 * What `patch` takes: fields to set, also inside of others (`{ 'address.city': 'Bern' }`), update
 * operators (`{ $inc: { age: 1 } }`), or both.
 */
export type PatchData<D> =
  | Partial<D>
  | { readonly [name: `$${string}` | `${string}.${string}`]: unknown }

/** What `find` resolves to: a page or a list, either where nothing is known of its paging. */
export type Found<T, Kind extends Paging> = Kind extends 'pages' ? Page<T> : T[]

/** The paging of calls with a page size of their own: pages, where the service states what it has. */
export type Paged<Kind extends Paging> = [Kind] extends ['pages']
  ? 'pages'
  : [Kind] extends ['list']
    ? 'pages'
    : Kind

type OneOrMany<D> = D | D[]

/** The methods for trusted callers: they run no hooks, and check neither query nor data. */
export class HooklessMethods<
  T extends Document = Document,
  D = NewRecord<T>,
  P extends MongoDBParams = MongoDBParams<RecordQuery<T>>,
  U = PatchData<D>,
  Kind extends Paging = DefaultPaging<T>,
> extends CollectionAccess<P> {
  /** `find` without hooks and without a check of the query. */
  _find(params: P & { paginate: false }): Promise<T[]>
  _find(params: P & PagesOption): Promise<Found<T, Paged<Kind>>>
  _find(params?: P): Promise<Found<T, Kind>>
  async _find(params?: P): Promise<Page<T> | T[]> {
    const settings = toCallSettings(this.options, params)
    return callAdapter('read', settings, params, (call) => toCommands(call).find(call)) as Promise<
      Page<T> | T[]
    >
  }

  /** `get` without hooks and without a check of the query. */
  async _get(id: AdapterId, params?: P): Promise<T> {
    checkId(id)
    const settings = toCallSettings(this.options, params)
    return callAdapter('read', settings, params, (call) =>
      toCommands(call).get(call, id),
    ) as Promise<T>
  }

  /** `create` without hooks and without a check of the data. */
  _create(data: D | NewRecord<T>, params?: P): Promise<T>
  _create(data: (D | NewRecord<T>)[], params?: P): Promise<T[]>
  _create(data: OneOrMany<D | NewRecord<T>>, params?: P): Promise<T | T[]>
  async _create(data: OneOrMany<D | NewRecord<T>>, params?: P): Promise<T | T[]> {
    const records = toRecords(data)
    const settings = toCallSettings(this.options, params)
    // Of the query, only the fields of the result matter: nothing is looked up.
    const selecting = { ...params, query: { $select: params?.query?.$select } }
    if (Array.isArray(data)) {
      checkMulti('create', settings)
      return callAdapter('create', settings, selecting, (call) =>
        toCommands(call).createMany(call, records),
      ) as Promise<T[]>
    }
    const [record = {}] = records
    return callAdapter('create', settings, selecting, (call) =>
      toCommands(call).create(call, record),
    ) as Promise<T>
  }

  /** `update` without hooks and without a check of query and data. */
  async _update(id: AdapterId, data: D | NewRecord<T>, params?: P): Promise<T> {
    checkOne(id, data)
    checkId(id)
    checkUnmixed(data)
    const operation = hasOperators(data) ? 'patch' : 'update'
    const settings = toCallSettings(this.options, params)
    return callAdapter(operation, settings, params, (call) =>
      toCommands(call).update(call, id, data),
    ) as Promise<T>
  }

  /** `patch` without hooks and without a check of query and data. */
  _patch(id: null, data: U | PatchData<NewRecord<T>>, params: P & UnreadParams): Promise<WriteCount>
  _patch(id: null, data: U | PatchData<NewRecord<T>>, params?: P): Promise<T[]>
  _patch(id: AdapterId, data: U | PatchData<NewRecord<T>>, params?: P): Promise<T>
  _patch(id: AdapterId | null, data: U | PatchData<NewRecord<T>>, params?: P): Promise<T | T[]>
  async _patch(
    id: AdapterId | null,
    data: U | PatchData<NewRecord<T>>,
    params?: P,
  ): Promise<T | T[] | WriteCount> {
    checkRecord(data)
    const settings = toCallSettings(this.options, params)
    if (id === null) {
      checkMulti('patch', settings)
      return callAdapter('patch of many', settings, params, (call) =>
        toCommands(call).patchMany(call, data),
      ) as Promise<T[] | WriteCount>
    }
    checkId(id)
    return callAdapter('patch', settings, params, (call) =>
      toCommands(call).patch(call, id, data),
    ) as Promise<T>
  }

  /** `remove` without hooks and without a check of the query. */
  _remove(id: null, params: P & UnreadParams): Promise<WriteCount>
  _remove(id: null, params?: P): Promise<T[]>
  _remove(id: AdapterId, params?: P): Promise<T>
  _remove(id: AdapterId | null, params?: P): Promise<T | T[]>
  async _remove(id: AdapterId | null, params?: P): Promise<T | T[] | WriteCount> {
    const settings = toCallSettings(this.options, params)
    if (id === null) {
      checkMulti('remove', settings)
      return callAdapter('remove of many', settings, params, (call) =>
        toCommands(call).removeMany(call),
      ) as Promise<T[] | WriteCount>
    }
    checkId(id)
    return callAdapter('remove', settings, params, (call) =>
      toCommands(call).remove(call, id),
    ) as Promise<T>
  }
}
