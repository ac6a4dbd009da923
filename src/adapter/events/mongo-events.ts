import { setTimeout as pause } from 'node:timers/promises'
import type { ClientSession, Collection } from 'mongodb'
import { Binary, BSON, ObjectId } from 'mongodb'
import { EventsUnavailable } from '../../core/errors/coded-errors.ts'
import { NotImplemented } from '../../core/errors/index.ts'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { BusEvent, BusReceiver, EventBus } from '../../core/events/event-bus.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import type { Outbox } from '../connection/client-facts.ts'
import { getClientFacts } from '../connection/client-facts.ts'
import { isModel, MODEL_EXPECTED, openModel } from '../connection/model.ts'
import { isAnswer } from '../driver-error.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { ChangeFeed } from './change-feed.ts'

/** Options of {@link mongoEvents}. */
export interface MongoEventsOptions {
  /** The collection of the events, as in the option `Model` of a service. */
  readonly collection: MongoDBSettings['Model']
  /** How long events are kept for clients that reconnect, in milliseconds. Default: 120,000. */
  readonly keepMs?: number
  /** How often to poll for events if the server has no change streams, in ms. Default: 500. */
  readonly pollMs?: number
  /**
   * How late an event may become visible, because of its transaction or its process, in ms. Default: 5,000.
   */
  readonly overlapMs?: number
}

const RULES: OptionRules = {
  collection: { expected: MODEL_EXPECTED, isValid: isModel },
  keepMs: OPTION.positiveInteger,
  pollMs: OPTION.positiveInteger,
  overlapMs: OPTION.positiveInteger,
}

/** An event as it is stored. */
interface StoredEvent extends Omit<BusEvent, 'record'> {
  readonly _id: ObjectId
  /** When it was written, by the clock of the server. */
  readonly at: Date
  /** As BSON: a field of a record may have a name that updates reject. */
  readonly record?: Binary | Uint8Array
}

/** An event that is to be stored. */
type NewEvent = Omit<StoredEvent, 'at'>

/** How many events may wait for a slow or unreachable database. */
const MAX_WAITING = 10_000

/** How many bytes the records of all waiting events may take. */
const MAX_WAITING_BYTES = 64 * 2 ** 20

/**
 * Returns a bus for `realtime({ bus })` and `socketio({ bus })`: each event is a small document in a
 * collection, which all processes read by a change stream, or by polling if the server has none. Events of a
 * transaction are written within it, if the collection belongs to the same client.
 * @throws {TypeError} an option is unknown or invalid
 */
export function mongoEvents(options: MongoEventsOptions): EventBus {
  checkOptions('mongoEvents()', options, RULES)
  const defaults = { keepMs: 120_000, pollMs: 500, overlapMs: 5_000 }
  const resolved = withDefaults(defaults as Required<MongoEventsOptions>, options)
  if (resolved.keepMs < resolved.overlapMs) {
    throw new OptionError("mongoEvents(): the option 'keepMs' must not be less than 'overlapMs'")
  }
  return new MongoEvents(resolved)
}

class MongoEvents implements EventBus {
  readonly overlapMs: number
  readonly #options: Required<MongoEventsOptions>
  #receiver: BusReceiver | null = null
  #collection: Collection<StoredEvent> | null = null
  #feed: ChangeFeed<StoredEvent> | null = null
  #timer: NodeJS.Timeout | undefined
  #outbox: Outbox = async () => undefined
  /**
   * When the events that have arrived were written, by their positions: an event that arrives again is dropped. Infinite
   * for own events that the server has not written yet.
   */
  readonly #seen = new Map<string, number>()
  /** When the newest event that has arrived was written, by the clock of the server. */
  #newest = 0
  /** Events that still have to be written. */
  #waiting: NewEvent[] = []
  #waitingBytes = 0
  #writing: Promise<void> | null = null
  /** Why events cannot be read or written; `null` if they can. */
  readonly #faults: { read: unknown; write: unknown } = { read: null, write: null }

  constructor(options: Required<MongoEventsOptions>) {
    this.#options = options
    this.overlapMs = options.overlapMs
  }

  async open(receiver: BusReceiver): Promise<void> {
    this.#receiver = receiver
    const { collection: model, keepMs } = this.#options
    const collection = (await openModel(model)) as unknown as Collection<StoredEvent>
    this.#collection = collection
    await createExpiry(collection, Math.ceil(keepMs / 1_000))
    this.#outbox = async (contexts, session) => {
      const events = await Promise.all(contexts.map((context) => receiver.describe(context)))
      await write(collection, events.flat().map(toStored), session)
    }
    getClientFacts(collection.db.client).outboxes.add(this.#outbox)
    await this.#connect(collection)
    this.#startWriting()
  }

  publish(event: BusEvent): void {
    const stored = toStored(event)
    this.#arrive(stored)
    this.#waitingBytes += sizeOf(stored)
    if (this.#waiting.length >= MAX_WAITING || this.#waitingBytes > MAX_WAITING_BYTES) {
      // Too many events for an unreachable database: replaced by a single one, on which all streams restart.
      for (const { _id } of [...this.#waiting, stored]) this.#seen.delete(_id.toHexString())
      this.#waiting = [toStored(EVERYTHING)]
      this.#waitingBytes = 0
    } else this.#waiting.push(stored)
    this.#startWriting()
  }

  async check(): Promise<void> {
    const cause = this.#faults.read ?? this.#faults.write
    if (cause !== null)
      throw new EventsUnavailable('Events do not reach all processes', null, { cause })
  }

  async close(): Promise<void> {
    this.#receiver = null
    clearTimeout(this.#timer)
    const collection = this.#collection
    if (collection !== null) getClientFacts(collection.db.client).outboxes.delete(this.#outbox)
    await this.#feed?.close()
    // Published events must still reach other processes.
    await this.#writing
  }

  /** Follows the collection by a change stream if the server supports them, else by polling. */
  async #connect(collection: Collection<StoredEvent>): Promise<void> {
    this.#feed = new ChangeFeed({
      watch: () => collection.watch<StoredEvent>([{ $match: { operationType: 'insert' } }]),
      onOpen: () => this.#poll(collection),
      onChange: (change) => {
        if (change.operationType === 'insert') this.#arriveStored(change.fullDocument)
      },
      onFault: (cause) => {
        this.#faults.read = cause
      },
      pauseMs: this.#options.pollMs,
    })
    try {
      await this.#feed.open()
    } catch (error) {
      if (!(error instanceof NotImplemented)) throw error
      await this.#pollAgain(collection)
    }
  }

  async #pollAgain(collection: Collection<StoredEvent>): Promise<void> {
    try {
      await this.#poll(collection)
      this.#faults.read = null
    } catch (error) {
      this.#faults.read = error
    }
    if (this.#receiver === null) return
    this.#timer = setTimeout(() => void this.#pollAgain(collection), this.#options.pollMs).unref()
  }

  /** Reads events written since the newest one, and a little before it: some may have become visible late. */
  async #poll(collection: Collection<StoredEvent>): Promise<void> {
    const { keepMs, overlapMs } = this.#options
    const [last] = await collection.find().sort({ at: -1 }).limit(1).toArray()
    const newest = last?.at.getTime() ?? 0
    if (this.#newest > 0 && newest - this.#newest > keepMs) this.#receiver?.lose()
    const since = this.#newest === 0 ? newest - keepMs : this.#newest - overlapMs
    const recent = { at: { $gte: new Date(since) } }
    const found = await collection.find(recent, { projection: { at: 1, path: 1 } }).toArray()
    const ids = found.map(({ _id }) => _id).filter((id) => !this.#seen.has(id.toHexString()))
    const unseen = collection.find({ _id: { $in: ids } }).sort({ at: 1 })
    // `#newest` moves only after the events have arrived, because the next poll begins there.
    for (const event of ids.length === 0 ? [] : await unseen.toArray()) this.#arriveStored(event)
    for (const event of found) this.#confirm(event)
    this.#newest = Math.max(this.#newest, newest)
  }

  #arriveStored({ at, ...event }: StoredEvent): void {
    this.#confirm({ at, ...event })
    this.#newest = Math.max(this.#newest, at.getTime())
    this.#arrive(event, this.#newest)
  }

  /** @param storedAt `undefined` for an event that this process is about to write, which has no time yet */
  #arrive({ _id, record, ...event }: NewEvent, storedAt?: number): void {
    const position = _id.toHexString()
    const isSeen = this.#seen.delete(position)
    this.#seen.set(position, storedAt ?? Number.POSITIVE_INFINITY)
    // Twice the overlap: no poll reads older events. Own events stay until the server has them.
    for (const [seen, time] of this.#seen) {
      if (time < this.#newest - 2 * this.overlapMs) this.#seen.delete(seen)
      else if (Number.isFinite(time)) break
    }
    if (isSeen) return
    const carried = record === undefined ? {} : { record: BSON.deserialize(toBytes(record)) }
    if (event.path === EVERYTHING.path) this.#receiver?.lose()
    else this.#receiver?.receive({ ...event, ...carried }, position, storedAt)
  }

  /** Sets the time of an own event, once the server has written it. */
  #confirm({ _id, at, path }: Pick<StoredEvent, '_id' | 'at' | 'path'>): void {
    const position = _id.toHexString()
    if (this.#seen.get(position) !== Number.POSITIVE_INFINITY) return
    this.#newest = Math.max(this.#newest, at.getTime())
    // Deleted first: a map keeps the order of insertion, and this one must stay in order of time.
    this.#seen.delete(position)
    this.#seen.set(position, this.#newest)
    this.#receiver?.confirm(path, position, at.getTime())
  }

  /**
   * Starts to write waiting events, unless a write is running. Events published before `open()` wait for it.
   */
  #startWriting(): void {
    if (this.#collection === null || this.#waiting.length === 0) return
    this.#writing ??= this.#write(this.#collection)
  }

  /** Writes waiting events in order, and retries what fails. */
  async #write(collection: Collection<StoredEvent>): Promise<void> {
    while (this.#waiting.length > 0) {
      const events = this.#waiting.slice()
      try {
        await write(collection, events)
        // In the meantime, a single event may have replaced them all.
        if (this.#waiting[0] === events[0]) {
          this.#waiting = this.#waiting.slice(events.length)
          for (const event of events) this.#waitingBytes -= sizeOf(event)
        }
        this.#faults.write = null
      } catch (error) {
        this.#faults.write = error
        if (this.#receiver === null) break
        await pause(this.#options.pollMs, undefined, { ref: false })
      }
    }
    this.#writing = null
  }
}

/** Sent in place of lost events: any record of any service may have changed. */
const EVERYTHING: BusEvent = { path: '', name: 'changed', id: null, place: '' }

function toStored({ record, ...event }: BusEvent): NewEvent {
  const stored = { _id: new ObjectId(), ...event }
  if (record === undefined) return stored
  const bytes = serialize(record)
  if (bytes !== null) return { ...stored, record: bytes }
  // A removal only needs the id. Any other event without its record becomes `changed`.
  return event.name === 'removed' ? stored : { ...stored, name: 'changed', id: null }
}

function sizeOf({ record }: NewEvent): number {
  return record === undefined ? 0 : toBytes(record).length
}

/** The largest record that fits into an event, as a document holds 16 MiB. */
const MAX_RECORD_BYTES = 15 * 2 ** 20

/** Returns a record as BSON, `null` if it is too large or has a name that BSON rejects. */
function serialize(record: object): Binary | null {
  try {
    const bytes = BSON.serialize(record)
    return bytes.length > MAX_RECORD_BYTES ? null : new Binary(bytes)
  } catch {
    return null
  }
}

function toBytes(record: Binary | Uint8Array): Uint8Array {
  return record instanceof Binary ? record.value() : record
}

/** Makes events expire some seconds after they were written, even if another time was set before. */
async function createExpiry(
  collection: Collection<StoredEvent>,
  expireAfterSeconds: number,
): Promise<void> {
  try {
    await collection.createIndex({ at: 1 }, { expireAfterSeconds })
  } catch (error) {
    if (!isAnswer(error) || !CONFLICTS.has(error.code)) throw error
    await collection.dropIndex('at_1')
    await collection.createIndex({ at: 1 }, { expireAfterSeconds })
  }
}

/** The server's codes for an index that exists with other options, or another index of this name. */
const CONFLICTS: ReadonlySet<unknown> = new Set([85, 86])

/** Writes events with the time of the server: the clocks of processes may differ. */
async function write(
  collection: Collection<StoredEvent>,
  events: readonly NewEvent[],
  session?: ClientSession,
): Promise<void> {
  if (events.length === 0) return
  const operations = events.map(({ _id, ...event }) => ({
    updateOne: {
      filter: { _id },
      update: { $setOnInsert: event, $currentDate: { at: true } } as const,
      upsert: true,
    },
  }))
  await collection.bulkWrite(operations, session === undefined ? {} : { session })
}
