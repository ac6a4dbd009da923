import type { AggregationCursor, Collection, Document, FindCursor } from 'mongodb'
import type { Query } from '../core/params.ts'
import { allowsMany } from '../core/services/multi-option.ts'
import { callAdapter, toChecked } from './adapter-call.ts'
import { toCallSettings } from './call-settings.ts'
import { createIndexes } from './connection/create-indexes.ts'
import { openModel } from './connection/model.ts'
import { toDriverOptions } from './driver-options.ts'
import type {
  MongoDBOptions,
  MongoDBSettings,
  MultiMethod,
  ResolvedMongoDBOptions,
} from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import { isExternal, toHidden } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import { toStoredId } from './object-id.ts'
import { checkOffered } from './offered-methods.ts'
import { toOwnStages, toStages } from './pipelines/framework-stages.ts'
import { openAggregation } from './pipelines/pipeline-find.ts'
import { checkReadOnly, findWriting, NO_STAGES, readPipeline } from './pipelines/read-pipeline.ts'
import { openCursor } from './queries/find.ts'
import { checkRawQuery } from './queries/hidden-field-check.ts'
import { splitQuery } from './queries/split-query.ts'
import { toCommands } from './record-commands.ts'
import { resolveMongoDBOptions } from './resolve-options.ts'

/** What the service needs of its application. */
interface WithReadiness {
  readonly readiness: Map<string, () => Promise<unknown>>
}

/** The options of a service, its collection, and ways to the collection that no method of it has. */
export class CollectionAccess<P extends MongoDBParams = MongoDBParams> {
  /** The options, read anew in each call: setting one changes the next call. */
  options: ResolvedMongoDBOptions
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

  /**
   * Creates the indexes of the service, and lets the application be ready only while the collection
   * can be reached.
   * @throws {Error} an index can not be created; names the service and the index
   * @throws {TypeError} callers outside may call a method of this class
   */
  async setup(app: WithReadiness, path: string): Promise<void> {
    checkOffered(this, path, CollectionAccess.prototype)
    await createIndexes(path, this.options)
    const check = async (): Promise<number> =>
      (await openModel(this.options.Model)).estimatedDocumentCount()
    app.readiness.set(`mongodb ${path}`, check)
  }

  /** Makes the readiness of the application independent of the collection again. */
  async teardown(app: WithReadiness, path: string): Promise<void> {
    app.readiness.delete(`mongodb ${path}`)
  }

  /**
   * Returns an id as it is stored: an ObjectId for 24 hexadecimal digits, where `_id` is the id and
   * the option `disableObjectify` is off, and any other id as it is.
   */
  getObjectId(id: AdapterId): AdapterId {
    return toStoredId(id, this.options)
  }

  /** Returns the options for one call: those of the service, `params.paginate`, then `params.adapter`. */
  getOptions(params?: P): MongoDBSettings {
    return toCallSettings(this.options, params)
  }

  /** Returns whether a method may write many records in one call. */
  allowsMulti(method: MultiMethod, params?: P): boolean {
    return allowsMany(method, this.getOptions(params)) === true
  }

  /**
   * Resolves to a checked copy of a query, for methods of subclasses that go on with one of the methods
   * that check nothing, `_find` for example.
   * @throws {BadRequest} the query has an operator or a name that is not allowed, or asks of hidden fields
   */
  async sanitizeQuery(params?: P): Promise<Query> {
    return toChecked(params, this).query ?? {}
  }

  /** Resolves to the collection of the service, `params.adapter.Model` first. */
  async getModel(params?: P): Promise<Collection> {
    return openModel(toCallSettings(this.options, params).Model)
  }

  /**
   * Resolves to a cursor over the records of a query. Operators are not checked; what a caller outside
   * asks of hidden fields is.
   */
  async findRaw(params?: P): Promise<FindCursor> {
    const settings = this.#toRawSettings(params)
    return callAdapter('cursor', settings, params, async (call) => openCursor(call))
  }

  /**
   * Resolves to a cursor over what `params.pipeline` makes of the records of a query, which is checked
   * as in {@link findRaw}. The last stage may write, by `$out` or `$merge`, but not for callers outside;
   * it is then a write, which `params.signal` does not abort.
   */
  async aggregateRaw(params?: P): Promise<AggregationCursor> {
    const pipeline = readPipeline(params?.pipeline) ?? NO_STAGES
    if (isExternal(params)) checkReadOnly(pipeline)
    const settings = this.#toRawSettings(params)
    const isWrite = findWriting(pipeline) !== undefined
    return callAdapter(
      isWrite ? 'aggregate into a collection' : 'aggregate',
      settings,
      params,
      async (call) => openAggregation(call, toStages(call)),
    )
  }

  /**
   * Returns the stages that stand for a query in an aggregation: `$match`, `$sort`, `$skip`, `$limit`,
   * and `$project`. They do not take part in `params.pipeline`. The query is checked as in
   * {@link findRaw}.
   */
  makeFeathersPipeline(params?: P): Document[] {
    const settings = this.#toRawSettings(params)
    return toOwnStages({
      settings,
      query: splitQuery(params?.query ?? {}, settings),
      hidden: toHidden(settings, params),
      driver: toDriverOptions({ ...params, pipeline: undefined }, 'aggregate'),
    })
  }

  /**
   * Resolves to the number of records that match a query, or of what `params.pipeline` makes of them.
   * The query is checked as in {@link findRaw}.
   */
  async countDocuments(params?: P): Promise<number> {
    const settings = this.#toRawSettings(params)
    return callAdapter('read', settings, params, (call) => toCommands(call).count(call))
  }

  /** Custom methods hand the params of their caller on: what he asks there goes outside as well. */
  #toRawSettings(params: P | undefined): MongoDBSettings {
    const settings = toCallSettings(this.options, params)
    if (toHidden(settings, params).length > 0) checkRawQuery(params?.query ?? {}, settings)
    return settings
  }
}
