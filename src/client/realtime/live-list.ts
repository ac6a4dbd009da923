import { ArgumentError } from '../../core/errors/setup-errors.ts'
import { Emitter } from '../../core/events/emitter.ts'
import type { Page } from '../../core/params.ts'
import { listFound } from '../../core/results.ts'
import { isObject } from '../../core/value-kind.ts'
import { MAX_TIMER_MS } from '../answers/time-limit.ts'
import type { LiveService } from './live-connections.ts'
import type { LiveStatus, ReceivedEvent, RecordOf, SubscriptionParams } from './live-event.ts'
import { Subscription } from './subscription.ts'

type Fields = Readonly<Record<string, unknown>>

/** The parts of a query that shape the list. In a query string, numbers may be strings. */
interface Shape {
  readonly $sort?: unknown
  readonly $limit?: unknown
  readonly $skip?: unknown
}

/** The records of a query, kept up to date: sorted by its `$sort` and limited by its `$limit`. */
export class LiveList<Result = unknown> {
  readonly #events: Subscription
  readonly #emitter: Emitter
  readonly #compare: (one: unknown, other: unknown) => number
  readonly #shape: Shape
  #data: readonly Fields[] = []
  #total: number | undefined
  readonly #recountMs: number
  #recount: ReturnType<typeof setTimeout> | undefined
  #limit = Number.POSITIVE_INFINITY
  /** Whether the server has records beyond those of the list. */
  #isCut = false

  /** @internal */
  constructor(
    live: LiveService,
    params: SubscriptionParams,
    onListenerError: (error: unknown) => void,
  ) {
    this.#shape = (params['query'] ?? {}) as Shape
    this.#compare = compareBy(this.#shape.$sort)
    this.#emitter = new Emitter(onListenerError)
    this.#recountMs = live.options.recountMs
    this.#events = new Subscription(live, params, () => this.#tell())
  }

  /** The records; a new array after each change. */
  get data(): readonly RecordOf<Result>[] {
    return this.#data as readonly RecordOf<Result>[]
  }

  /**
   * How many records match, `undefined` if `find` does not return pages. In a list cut off by `$limit`, writes beyond
   * its end may be counted later.
   */
  get total(): number | undefined {
    return this.#total
  }

  /** The status of the connection. */
  get status(): LiveStatus {
    return this.#events.status
  }

  /** Why the connection was lost or has ended, `undefined` if it is open or was closed. */
  get error(): unknown {
    return this.#events.error
  }

  /** Adds a listener that is called after each change of the list or its status. Returns a function that removes it. */
  on(event: 'change', listener: (list: this) => unknown): () => void {
    if (event !== 'change') throw new ArgumentError("The event of a live list is 'change'")
    this.#emitter.on(event, listener)
    return () => void this.#emitter.off(event, listener)
  }

  /** Ends the connection, unless it is shared. The records stay. */
  close(): void {
    void this.#events.return()
  }

  /** @internal Resolves when the first snapshot is there, and rejects if there will be none. */
  async start(): Promise<this> {
    try {
      const first = await this.#events.next()
      if (first.done) throw new DOMException('The list was closed', 'AbortError')
      this.#apply(first.value)
    } catch (error) {
      this.close()
      throw error
    }
    void this.#follow()
    return this
  }

  async #follow(): Promise<void> {
    try {
      for await (const event of this.#events) this.#apply(event)
    } catch (error) {
      this.#events.error = error
      this.#tell()
    }
    clearTimeout(this.#recount)
  }

  #tell(): void {
    this.#emitter.emit('change', this)
  }

  #apply({ type, data }: ReceivedEvent): void {
    if (type === 'snapshot') this.#replace(data)
    else if (!isObject(data)) return
    else if (type === 'removed' || type === 'left') this.#remove(data)
    else if (['created', 'updated', 'patched'].includes(type)) this.#put(data, type === 'created')
    else return
    this.#tell()
  }

  #replace(found: unknown): void {
    const records = listFound(found)
    if (records === null) throw new ArgumentError('live() needs a find of a list or a page')
    const { total, limit = this.#shape.$limit } = found as Partial<Page<unknown>>
    clearTimeout(this.#recount)
    this.#recount = undefined
    this.#data = records as readonly Fields[]
    this.#total = typeof total === 'number' ? total : undefined
    this.#limit = Number(limit ?? Number.POSITIVE_INFINITY)
    const end = Number(this.#shape.$skip ?? 0) + this.#data.length
    this.#isCut = this.#data.length >= this.#limit && end !== this.#total
  }

  #put(record: Fields, isNew: boolean): void {
    const before = this.#data.find((one) => isSame(one, record))
    const inPlace = this.#data.map((one) => (one === before ? record : one))
    let isSorted = true
    const data = (before === undefined ? [...inPlace, record] : inPlace.slice()).sort(
      (one, other) => {
        const order = this.#compare(one, other)
        isSorted &&= !Number.isNaN(order)
        return order
      },
    )
    if (!isSorted) {
      this.#data = inPlace
      this.#events.refresh()
      return
    }
    if (before === undefined) this.#count(Number(isNew || !this.#isCut))
    const hasMoved = before === undefined || this.#compare(before, record) !== 0
    // Records beyond the end of the list may now come before its last record.
    const isLast = this.#isCut && before !== undefined && data.at(-1) === record
    this.#isCut ||= data.length > this.#limit
    this.#data = data.slice(0, this.#limit)
    if (hasMoved && (isLast || this.#isSkipping())) this.#events.refresh()
  }

  #remove(record: Fields): void {
    const data = this.#data.filter((one) => !isSame(one, record))
    const isKnown = data.length < this.#data.length
    this.#data = data
    if (isKnown || this.#isCut) this.#count(-1)
    if ((isKnown && this.#isCut) || this.#isSkipping()) this.#events.refresh()
  }

  /**
   * Counts a record. If it is beyond the end of the list, the snapshot may have counted it already: the total is
   * fetched again after a while.
   */
  #count(difference: number): void {
    if (this.#total === undefined) return
    this.#total = Math.max(0, this.#total + difference)
    if (!this.#isCut) return
    const waitMs = (this.#recountMs * (1 + Math.random())) / 2
    this.#recount ??= setTimeout(() => this.#events.refresh(), Math.min(waitMs, MAX_TIMER_MS))
  }

  /** Returns whether the list skips records: then each record before it shifts the list. */
  #isSkipping(): boolean {
    return Number(this.#shape.$skip ?? 0) > 0
  }
}

/**
 * Returns whether a record of a list is the one in an event, or has the id in it: the field `_id`, otherwise `id`,
 * otherwise the only field of the event.
 */
function isSame(record: Fields, told: Fields): boolean {
  const names = Object.keys(told)
  const name = names.length === 1 ? names[0] : ['_id', 'id'].find((one) => one in told)
  const [id, toldId] = name === undefined ? [] : [record[name], told[name]]
  return id !== undefined && (id === toldId || JSON.stringify(id) === JSON.stringify(toldId))
}

/** Negative if the first of two values comes first, 0 if they are equal, `NaN` if only the server knows. */
type Compare = (one: unknown, other: unknown) => number

/**
 * Returns a comparison of records by a `$sort`, with the order of the server for null, numbers, strings, booleans, and
 * dates, which are strings here. Lists, objects and fields that are missing from a record have no known order.
 * Collations are unknown, so the order of the server may differ.
 */
export function compareBy(sort: unknown): Compare {
  const fields = isObject(sort) ? Object.entries(sort) : []
  return (one, other) => {
    for (const [path, direction] of fields) {
      const order = compareValues(readPath(one, path), readPath(other, path))
      if (order !== 0) return Number(direction) < 0 ? -order : order
    }
    return 0
  }
}

function readPath(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }, record)
}

/** A date in JSON. The format differs before the year 0 and after 9999. */
const DATE = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function compareValues(one: unknown, other: unknown): number {
  if ([one, other].some((value) => value === undefined || isObject(value))) return Number.NaN
  const order = toRank(one) - toRank(other)
  if (order !== 0 || one === null) return order
  const [a, b] = [one, other] as [string, string]
  // By code units: alphabetical order differs between servers.
  const byText = a < b ? -1 : Number(a > b)
  const [isDate, isOtherDate] = [DATE.test(a), DATE.test(b)]
  if (!isDate && !isOtherDate) return byText
  // Dates come after all strings. The order is unknown only if that differs from the order of their texts.
  const byTime = isDate && isOtherDate ? Date.parse(a) - Date.parse(b) : isDate ? 1 : -1
  return Math.sign(byTime) === byText ? byText : Number.NaN
}

/** Returns the rank of a value's type in the order of MongoDB. */
function toRank(value: unknown): number {
  return value === null ? 0 : ['number', 'string', 'boolean'].indexOf(typeof value) + 1
}
