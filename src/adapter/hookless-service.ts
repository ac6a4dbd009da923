import type { AggregationCursor, Collection, Document, FindCursor } from 'mongodb'
import { RegistrationError } from '../core/errors/setup-errors.ts'

import { findServiceEntry } from '../core/index.ts'
import type { Page, Query } from '../core/params.ts'
import { allowsMany } from '../core/services/multi-option.ts'
import type { CallFacts } from './adapter-call.ts'
import { addConditions, readFacts } from './adapter-call.ts'
import { FeaturedService } from './adapter-features.ts'
import { callAdapter } from './call-adapter.ts'
import { checkMulti, checkOne, sanitizeParams } from './call-checks.ts'
import type { CalledService } from './call-feature.ts'
import { listHookRules } from './call-rules.ts'
import { createIndexes, openModel } from './connection/model.ts'
import type {
  MongoDBOptions,
  MongoDBSettings,
  MultiMethod,
  PagesOption,
  Paging,
  ResolvedMongoDBOptions,
} from './mongodb-options.ts'
import type { AnyDriver, AnyPaginate, MongoDBParams } from './mongodb-params.ts'
import { createDriverOptions } from './mongodb-params.ts'
import type { AdapterId, NullableAdapterId } from './object-id.ts'
import { checkId, toStoredId } from './object-id.ts'
import { createQueryStages, createStages } from './pipelines/framework-stages.ts'
import { checkReadOnly, findWriting, NO_STAGES, readPipeline } from './pipelines/pipeline-option.ts'
import { openCursor } from './queries/find.ts'
import { checkRawQuery } from './queries/hidden-field-check.ts'
import { splitQuery } from './queries/split-query.ts'
import {
  countRecords,
  createRecord,
  createRecords,
  findRecords,
  getRecord,
  openAggregation,
  patchRecord,
  patchRecords,
  removeRecord,
  removeRecords,
  updateRecord,
} from './record-commands.ts'
import { resolveCallSettings, resolveMongoDBOptions } from './resolve-options.ts'
import { checkRecord, checkUnmixed, hasOperators, listRecords } from './writes/write-data.ts'
import type { UnreadParams, WriteCount } from './writes/write-many.ts'

/** The fields of a record that has no id yet. */
export type NewRecord<T> = string extends keyof T
  ? T
  : Omit<T, '_id'> & Partial<Pick<T, '_id' & keyof T>>

/**
 * What `patch` takes: fields to set, also nested ones (`{ 'address.city': 'Bern' }`), update operators
 * (`{ $inc: { age: 1 } }`), or both.
 */
export type PatchData<D> =
  | Partial<D>
  | { readonly [name: `$${string}` | `${string}.${string}`]: unknown }

/** The methods for trusted callers take whole records, too. */
type AnyData<T, D> = D | NewRecord<T>

/** What `patch` of a service takes: fields of new data, and all stored fields. */
export type AnyPatch<T, D> = PatchData<D> | PatchData<NewRecord<T>>

/** What `find` resolves to: a page or a list, or either if its paging is unknown. */
export type Found<T, Kind extends Paging> = Kind extends 'pages' ? Page<T> : T[]

/** The paging of calls with their own page size: pages, if the service's paging is known. */
export type Paged<Kind extends Paging> = Paging extends Kind ? Kind : 'pages'

/** What the service needs of its application. */
interface WithReadiness {
  readonly readiness: Map<string, () => Promise<unknown>>
}

/**
 * The options of a service, access to its collection, and the methods for trusted callers, which run no hooks
 * and check neither query nor data. `Kind` says what `find` resolves to.
 */
export class HooklessService<
  T extends Document,
  D,
  P extends MongoDBParams,
  Kind extends Paging,
> extends FeaturedService {
  /** The options, read anew in each call: setting one changes the next call. */
  options: ResolvedMongoDBOptions
  /** The field that ids refer to. */
  readonly id: string
  /** Names of additional events that this service emits. */
  readonly events: readonly string[]

  /** @throws {TypeError} an option is missing, unknown, or has an invalid value */
  constructor(options: MongoDBOptions) {
    super()
    this.options = resolveMongoDBOptions(options)
    this.id = this.options.id
    this.events = this.options.events
  }

  /**
   * Creates the indexes of the service, and adds a readiness check that fails while the collection is
   * unreachable.
   * @throws {Error} an index cannot be created; names the service and the index
   * @throws {TypeError} external callers could call a method of this class
   */
  async setup(app: WithReadiness, path: string): Promise<void> {
    checkOffered(this, path, HooklessService.prototype)
    await createIndexes(path, this.options)
    const check = async (): Promise<number> =>
      (await openModel(this.options.Model)).estimatedDocumentCount()
    app.readiness.set(`mongodb ${path}`, check)
  }

  /** Removes the readiness check of the collection. */
  async teardown(app: WithReadiness, path: string): Promise<void> {
    app.readiness.delete(`mongodb ${path}`)
  }

  /**
   * Returns an id as it is stored: 24 hexadecimal digits become an ObjectId if `_id` is the id and the option
   * `disableObjectify` is off; any other id stays as it is.
   */
  getObjectId(id: AdapterId): AdapterId {
    return toStoredId(id, this.options)
  }

  /** Returns the options for one call: those of the service, `params.paginate`, then `params.adapter`. */
  getOptions(params?: P): MongoDBSettings {
    return resolveCallSettings(this.options, params)
  }

  /** Returns whether a method may write many records in one call. */
  allowsMulti(method: MultiMethod, params?: P): boolean {
    return allowsMany(method, this.getOptions(params)) === true
  }

  /**
   * Resolves to a checked copy of a query, for methods of subclasses that call an unchecked method, such as
   * `_find`.
   * @throws {BadRequest} the query has an operator or a name that is not allowed, or uses hidden fields
   */
  async sanitizeQuery(params?: P): Promise<Query> {
    return sanitizeParams(params, this).query ?? {}
  }

  /** Resolves to the collection of the service, `params.adapter.Model` first. */
  async getModel(params?: P): Promise<Collection> {
    return openModel(resolveCallSettings(this.options, params).Model)
  }

  /**
   * Resolves to a cursor over the records of a query. Operators are not checked; access to hidden fields is,
   * for external callers.
   */
  async findRaw(params?: P): Promise<FindCursor> {
    checkRawParams(this, params)
    return callAdapter('cursor', this, params, openCursor)
  }

  /**
   * Resolves to a cursor over what `params.pipeline` makes of the records of a query, which is checked as in
   * {@link findRaw}. The last stage may write, by `$out` or `$merge`, except for external callers; the call
   * is then a write, which `params.signal` does not abort.
   */
  async aggregateRaw(params?: P): Promise<AggregationCursor> {
    const pipeline = readPipeline(params?.pipeline) ?? NO_STAGES
    if (params?.provider !== undefined) checkReadOnly(pipeline)
    checkRawParams(this, params)
    const isWrite = findWriting(pipeline) !== undefined
    const operation = isWrite ? 'aggregate into a collection' : 'aggregate'
    return callAdapter(operation, this, params, (call) => openAggregation(call, createStages(call)))
  }

  /**
   * Returns the stages that express a query in an aggregation: `$match`, `$sort`, `$skip`, `$limit`, and
   * `$project`. They do not include `params.pipeline`. The query is checked as in {@link findRaw}.
   */
  makeFeathersPipeline(params?: P): Document[] {
    const { settings, hidden } = checkRawParams(this, params)
    const query = splitQuery(params?.query ?? {}, settings)
    return createQueryStages({
      settings,
      query: addConditions(query, listHookRules(params ?? {}, this)),
      hidden,
      pipeline: null,
      driver: createDriverOptions({ ...params, pipeline: undefined }, 'aggregate'),
    })
  }

  /**
   * Resolves to the number of records that match a query, or of the results of `params.pipeline`. The query
   * is checked as in {@link findRaw}.
   */
  async countDocuments(params?: P): Promise<number> {
    checkRawParams(this, params)
    return callAdapter('read', this, params, countRecords)
  }

  /** `find` without hooks and without a check of the query. */
  _find(params: AnyPaginate): Promise<Found<T, Kind>>
  _find(params: P & { paginate: false }): Promise<T[]>
  _find(params: P & PagesOption): Promise<Found<T, Paged<Kind>>>
  _find(params?: P): Promise<Found<T, Kind>>
  async _find(params?: P | AnyPaginate): Promise<Page<T> | T[]> {
    return callAdapter('find', this, params, findRecords)
  }

  /** `get` without hooks and without a check of the query. */
  async _get(id: AdapterId, params?: P): Promise<T> {
    checkId(id)
    return callAdapter('read', this, params, (call) => getRecord(call, id))
  }

  /** `create` without hooks and without a check of the data. */
  _create(data: AnyData<T, D>, params?: P): Promise<T>
  _create(data: AnyData<T, D>[], params?: P): Promise<T[]>
  _create(data: AnyData<T, D> | AnyData<T, D>[], params?: P): Promise<T | T[]>
  async _create(data: AnyData<T, D> | AnyData<T, D>[], params?: P): Promise<T | T[]> {
    if (!Array.isArray(data)) {
      checkRecord(data)
      return callAdapter('create', this, params, (call) => createRecord(call, data))
    }
    const records = listRecords(data)
    checkMulti('create', readFacts(this, params).settings)
    return callAdapter('create', this, params, (call) => createRecords(call, records))
  }

  /** `update` without hooks and without a check of query and data. */
  async _update(id: AdapterId, data: AnyData<T, D>, params?: P): Promise<T> {
    checkOne(id, data)
    checkId(id)
    checkUnmixed(data)
    const operation = hasOperators(data) ? 'patch' : 'update'
    return callAdapter(operation, this, params, (call) => updateRecord(call, id, data))
  }

  /** `patch` without hooks and without a check of query and data. */
  _patch(id: null, data: AnyPatch<T, D>, params: AnyDriver): Promise<T[]>
  _patch(id: null, data: AnyPatch<T, D>, params: P & UnreadParams): Promise<WriteCount>
  _patch(id: null, data: AnyPatch<T, D>, params?: P): Promise<T[]>
  _patch(id: AdapterId, data: AnyPatch<T, D>, params?: P): Promise<T>
  _patch(id: NullableAdapterId, data: AnyPatch<T, D>, params?: P): Promise<T | T[]>
  async _patch(
    id: NullableAdapterId,
    data: AnyPatch<T, D>,
    params?: P | AnyDriver,
  ): Promise<T | T[] | WriteCount> {
    checkRecord(data)
    if (id === null) {
      checkMulti('patch', readFacts(this, params).settings)
      return callAdapter('patch of many', this, params, (call) => patchRecords(call, data))
    }
    checkId(id)
    return callAdapter('patch', this, params, (call) => patchRecord(call, id, data))
  }

  /** `remove` without hooks and without a check of the query. */
  _remove(id: null, params: AnyDriver): Promise<T[]>
  _remove(id: null, params: P & UnreadParams): Promise<WriteCount>
  _remove(id: null, params?: P): Promise<T[]>
  _remove(id: AdapterId, params?: P): Promise<T>
  _remove(id: NullableAdapterId, params?: P): Promise<T | T[]>
  async _remove(id: NullableAdapterId, params?: P | AnyDriver): Promise<T | T[] | WriteCount> {
    if (id === null) {
      checkMulti('remove', readFacts(this, params).settings)
      return callAdapter('remove of many', this, params, removeRecords)
    }
    checkId(id)
    return callAdapter('remove', this, params, (call) => removeRecord(call, id))
  }
}

/** Custom methods pass their params on, so the result may reach an external caller. */
function checkRawParams(service: CalledService, params: MongoDBParams | undefined): CallFacts {
  const facts = readFacts(service, params)
  if (facts.hidden.length > 0) checkRawQuery(params?.query ?? {}, facts.settings)
  return facts
}

/**
 * Checks that no method of this class is offered as a custom method. Custom methods get data as their first
 * argument, where these methods take params: an external caller could set `provider` or `adapter`.
 * @param inner the class whose methods take only params; a subclass's method of the same name is allowed
 * @throws {TypeError} one of them is offered
 */
function checkOffered(service: object, path: string, inner: object): void {
  const methods = [...(findServiceEntry(service)?.methods.values() ?? [])]
  const offered = methods.find(
    ({ name, external, original }) => external && original === Reflect.get(inner, name),
  )
  if (offered === undefined) return
  throw new RegistrationError(
    `'${offered.name}' of service '${path}' is only for internal calls: external callers could set its params. Offer a custom method (data, params) that calls it`,
  )
}
