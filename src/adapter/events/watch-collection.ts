import { createHash } from 'node:crypto'
import type { ChangeStreamDocument, ChangeStreamOptions, Collection } from 'mongodb'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
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
   * Whether to read removed records as they were before: needs `changeStreamPreAndPostImages` on the
   * collection. Without it, streams send `removed` only for records that they sent before. Default: `false`.
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

/** How long to wait before reopening a change stream that has ended, in milliseconds. */
const PAUSE_MS = 1_000

/**
 * Sends each change of a service's collection to the service's streams, including changes made by other
 * programs. A MongoDB change stream replaces the events of the service's own calls. Resolves, once changes
 * are seen, to a function that stops it.
 * @throws {NotImplemented} the server has no change streams
 * @throws {TypeError} the service has no collection, or an option is unknown
 */
export async function watchCollection(
  service: object,
  options: WatchOptions = {},
): Promise<() => Promise<void>> {
  checkOptions('watchCollection()', options, RULES)
  if (!(service instanceof HooklessService)) {
    throw new ArgumentError('watchCollection() takes a MongoDBService')
  }
  const feed = createFeed(service, await service.getModel(), options)
  await feed.open()
  service.isWatched = true
  return () => {
    service.isWatched = false
    return feed.close()
  }
}

/** Returns a feed that sends the changes of the collection to the service's streams. */
function createFeed(
  service: { readonly id: string },
  collection: Collection,
  { preImages = false }: WatchOptions,
): ChangeFeed {
  const { id: idField } = service
  const place = collection.namespace
  const emitter = service as unknown as { emit(event: symbol, change: SeenChange): unknown }
  /** Sends `changed`: it is unknown which records did. */
  const tellAll = (): unknown =>
    emitter.emit(SEEN_CHANGE, { name: 'changed', id: null, place, position: null })
  const tell = (change: ChangeStreamDocument): unknown => {
    const name = EVENTS[change.operationType]
    if (name === undefined || !('documentKey' in change)) return tellAll()
    const { documentKey, _id: token } = change
    const record =
      'fullDocumentBeforeChange' in change ? change.fullDocumentBeforeChange : undefined
    const full = ('fullDocument' in change ? change.fullDocument : undefined) ?? record
    const id = idField === '_id' ? documentKey._id : full?.[idField]
    if (id === undefined) return tellAll()
    // Servers before 6.0 only send `clusterTime`, in whole seconds.
    const { wallTime, clusterTime } = change
    const second = clusterTime && clusterTime.getHighBitsUnsigned() * 1_000
    const storedAt = wallTime?.getTime() ?? second
    const position = toPosition(token)
    const seen = { name, id, place, record: record ?? undefined, position, storedAt }
    return emitter.emit(SEEN_CHANGE, seen)
  }
  // Only the id is needed, unless the service's id is another field than the one that the change names.
  const options: ChangeStreamOptions = {
    ...(preImages ? { fullDocumentBeforeChange: 'whenAvailable' } : {}),
    ...(idField === '_id' ? {} : { fullDocument: 'updateLookup' }),
  }
  return new ChangeFeed({
    watch: () => collection.watch([], options),
    // Until now, open streams only got the events of calls, or none.
    onOpen: tellAll,
    onChange: tell,
    onFault: createFaultLog(service),
    pauseMs: PAUSE_MS,
  })
}

/** Returns a function that logs a fault once when it begins, not again for each retry. */
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
