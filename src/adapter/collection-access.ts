import type { Collection, FindCursor } from 'mongodb'

import { callAdapter } from './adapter-call.ts'
import { toCallSettings } from './call-settings.ts'
import { openModel } from './connection/model.ts'
import type { MongoDBOptions, MongoDBSettings } from './mongodb-options.ts'
import type { MongoDBParams } from './mongodb-params.ts'
import type { AdapterId } from './object-id.ts'
import { toStoredId } from './object-id.ts'
import { countRecords, openCursor } from './queries/find.ts'
import { resolveMongoDBOptions } from './resolve-options.ts'

/** What the service needs of its application. */
interface WithReadiness {
  readonly readiness: Map<string, () => Promise<unknown>>
}

/** The options of a service, its collection, and ways to the collection that no method of it has. */
export class CollectionAccess<P extends MongoDBParams = MongoDBParams> {
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

  /** Lets the application be ready only while the collection can be reached. */
  async setup(app: WithReadiness, path: string): Promise<void> {
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

  /** Resolves to the collection of the service, `params.adapter.Model` first. */
  async getModel(params?: P): Promise<Collection> {
    return openModel(toCallSettings(this.options, params).Model)
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
