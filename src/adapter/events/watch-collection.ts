import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeStream, ChangeStreamDocument, ChangeStreamOptions, Collection } from 'mongodb'
import { NotImplemented } from '../../core/errors/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { SeenChange } from '../../core/services/record-view.ts'
import { SEEN_CHANGE } from '../../core/services/record-view.ts'
import { isAnswer } from '../driver-error.ts'
import { HooklessService } from '../hookless-service.ts'

/** Options of {@link watchCollection}. */
export interface WatchOptions {
  /**
   * Whether removed records are read as they were: the collection has to have
   * `changeStreamPreAndPostImages`. Without it `removed` is told of records that a stream was sent.
   * Default: `false`.
   */
  readonly preImages?: boolean
}

const RULES: OptionRules = { preImages: OPTION.boolean }

/** The event of each kind of change. */
const EVENTS: Readonly<Record<string, string>> = {
  insert: 'created',
  update: 'patched',
  replace: 'updated',
  delete: 'removed',
}

/** How long is waited before a change stream that has ended is opened again, in milliseconds. */
const PAUSE_MS = 1_000

/**
 * Has the streams of a service told of each change of its collection, whoever makes it: by a change
 * stream, in the place of the events of the service's own calls. Resolves to what ends it, once changes
 * are seen.
 * @throws {NotImplemented} the server has no change streams
 * @throws {TypeError} no service on a collection, or an option is not known
 */
export async function watchCollection(
  service: object,
  options: WatchOptions = {},
): Promise<() => Promise<void>> {
  checkOptions('watchCollection()', options, RULES)
  if (!(service instanceof HooklessService)) {
    throw new TypeError('watchCollection() takes a MongoDBService')
  }
  const emitter = service as unknown as { emit(event: symbol, change: SeenChange): unknown }
  const watch = new CollectionWatch(await service.getModel(), service.id, options, (change) =>
    emitter.emit(SEEN_CHANGE, change),
  )
  await watch.open()
  service.isWatched = true
  return () => {
    service.isWatched = false
    return watch.close()
  }
}

class CollectionWatch {
  readonly #collection: Collection
  readonly #idField: string
  readonly #options: ChangeStreamOptions
  readonly #emit: (change: SeenChange) => void
  #stream: ChangeStream | null = null
  #isClosed = false

  constructor(
    collection: Collection,
    idField: string,
    { preImages = false }: WatchOptions,
    emit: (change: SeenChange) => void,
  ) {
    this.#collection = collection
    this.#idField = idField
    // Only the id counts, unless it is another field than the one that the change names.
    this.#options = {
      ...(preImages ? { fullDocumentBeforeChange: 'whenAvailable' } : {}),
      ...(idField === '_id' ? {} : { fullDocument: 'updateLookup' }),
    }
    this.#emit = emit
  }

  async open(): Promise<void> {
    const stream = this.#collection.watch([], this.#options)
    try {
      await stream.tryNext()
    } catch (error) {
      await stream.close()
      if (!isAnswer(error)) throw error
      throw new NotImplemented('The server has no change streams', null, { cause: error })
    }
    if (this.#isClosed) {
      await stream.close()
      return
    }
    this.#stream = stream
    // Streams that are open were told by the events of calls until now.
    this.#tellAll()
    void this.#read(stream)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stream?.close()
  }

  async #read(stream: ChangeStream): Promise<void> {
    try {
      for await (const change of stream) this.#tell(change)
    } catch {
      // The driver has tried for long; what came meanwhile is made up for by a new snapshot.
    }
    await stream.close().catch(() => undefined)
    while (!this.#isClosed) {
      await pause(PAUSE_MS, undefined, { ref: false })
      try {
        if (!this.#isClosed) await this.open()
        return
      } catch {
        // Tried again: whether the database is there, readiness tells.
      }
    }
  }

  #tell(change: ChangeStreamDocument): void {
    const name = EVENTS[change.operationType]
    if (name === undefined || !('documentKey' in change)) {
      this.#tellAll()
      return
    }
    const { documentKey, _id: token } = change
    const record =
      'fullDocumentBeforeChange' in change ? change.fullDocumentBeforeChange : undefined
    const full = ('fullDocument' in change ? change.fullDocument : undefined) ?? record
    const id = this.#idField === '_id' ? documentKey._id : full?.[this.#idField]
    if (id === undefined) {
      this.#tellAll()
      return
    }
    const place = this.#collection.namespace
    this.#emit({ name, id, place, record: record ?? undefined, position: toPosition(token) })
  }

  /** Nobody knows which records have changed. */
  #tellAll(): void {
    const place = this.#collection.namespace
    this.#emit({ name: 'changed', id: null, place, position: null })
  }
}

/**
 * Returns the position of a change, the same in all processes: a hash of its resume token. The token itself
 * holds the id of the record, and the snapshot of any caller is sent with the position of the newest change.
 */
function toPosition(token: unknown): string {
  const { _data: data } = token as { readonly _data?: unknown }
  return createHash('sha256').update(String(data)).digest('base64url').slice(0, POSITION_LENGTH)
}

/** 132 bits: no two changes have the same. */
const POSITION_LENGTH = 22
