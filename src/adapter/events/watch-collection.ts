import { createHash } from 'node:crypto'
import type { ChangeStreamDocument, ChangeStreamOptions, Collection } from 'mongodb'
import { findServiceEntry } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { SeenChange } from '../../core/services/record-view.ts'
import { SEEN_CHANGE } from '../../core/services/record-view.ts'
import { HooklessService } from '../hookless-service.ts'
import { ChangeFeed } from './change-feed.ts'

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
  const { feed } = new CollectionWatch(service, await service.getModel(), options)
  await feed.open()
  service.isWatched = true
  return () => {
    service.isWatched = false
    return feed.close()
  }
}

class CollectionWatch {
  readonly feed: ChangeFeed
  readonly #collection: Collection
  readonly #idField: string
  readonly #emit: (change: SeenChange) => void

  constructor(
    service: { readonly id: string },
    collection: Collection,
    { preImages = false }: WatchOptions,
  ) {
    this.#collection = collection
    this.#idField = service.id
    const emitter = service as unknown as { emit(event: symbol, change: SeenChange): unknown }
    this.#emit = (change) => void emitter.emit(SEEN_CHANGE, change)
    // Only the id counts, unless it is another field than the one that the change names.
    const options: ChangeStreamOptions = {
      ...(preImages ? { fullDocumentBeforeChange: 'whenAvailable' } : {}),
      ...(service.id === '_id' ? {} : { fullDocument: 'updateLookup' }),
    }
    this.feed = new ChangeFeed({
      watch: () => collection.watch([], options),
      // Streams that are open were told by the events of calls until now, or of nothing.
      onOpen: () => this.#tellAll(),
      onChange: (change) => this.#tell(change),
      onFault: createFaultLog(service),
      pauseMs: PAUSE_MS,
    })
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
    // Servers before 6.0 send only the second, in `clusterTime`.
    const { wallTime, clusterTime } = change
    const second = clusterTime && clusterTime.getHighBitsUnsigned() * 1_000
    const storedAt = wallTime?.getTime() ?? second
    const position = toPosition(token)
    this.#emit({ name, id, place, record: record ?? undefined, position, storedAt })
  }

  /** Nobody knows which records have changed. */
  #tellAll(): void {
    const place = this.#collection.namespace
    this.#emit({ name: 'changed', id: null, place, position: null })
  }
}

/** Returns what logs a fault when it begins, and not again for each attempt to mend it. */
function createFaultLog(service: object): (cause: unknown) => void {
  let isBroken = false
  return (cause) => {
    const begins = cause !== null && !isBroken
    isBroken = cause !== null
    if (!begins) return
    const { app, path } = findServiceEntry(service) ?? {}
    app?.logger.warn({ err: cause, path }, 'watchCollection(): the change stream has broken')
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
