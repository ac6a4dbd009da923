import type { IncomingMessage } from 'node:http'
import { get } from 'node:http'
import { until } from './until.ts'

/** A frame of a stream, its data read as JSON. */
export interface Frame {
  readonly event: string
  readonly data: unknown
}

export type LiveRecord = Readonly<Record<string, unknown>> & { readonly _id: string }

/**
 * A client of a live query over a socket of its own: it keeps the frames that it was sent, the list that
 * they make, and the id to come back with.
 */
export class LiveList {
  /** All frames since the first connection. */
  readonly frames: Frame[] = []
  readonly records = new Map<string, LiveRecord>()
  lastId = ''
  /** Whether the connection has ended, or was never there. */
  isClosed = true
  readonly #onFrame: (frame: Frame) => void
  #response: IncomingMessage | null = null

  /** @param onFrame called with each frame, before the list has it */
  constructor(onFrame: (frame: Frame) => void = () => undefined) {
    this.#onFrame = onFrame
  }

  /**
   * Follows a URL, from where the client was last.
   * @throws {Error} it is answered by no stream; names the status
   */
  async follow(url: string, token = ''): Promise<void> {
    const headers = {
      accept: 'text/event-stream',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(this.lastId === '' ? {} : { 'last-event-id': this.lastId }),
    }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { headers, agent: false }, resolve).on('error', reject)
    })
    if (response.statusCode !== 200) {
      response.resume()
      throw new Error(`The stream was answered ${response.statusCode}`)
    }
    this.isClosed = false
    this.#response = response
    response.on('error', () => undefined).on('close', () => this.#close(response))
    let received = ''
    response.setEncoding('utf8').on('data', (text: string) => {
      if (this.#response !== response) return
      const frames = (received + text).split('\n\n')
      received = frames.pop() ?? ''
      for (const frame of frames) this.#take(frame)
    })
  }

  /** Leaves without a word, as a client does whose network is gone. */
  leave(): void {
    const response = this.#response
    this.#response = null
    this.isClosed = true
    response?.destroy()
  }

  /** Resolves when a record has come, by whatever frame, with this value of the field. */
  async hears(field: string, value: unknown): Promise<void> {
    await until(() => this.seen(field).includes(value))
  }

  /** Returns the values of a field of all records that were ever sent, in their order. */
  seen(field: string): unknown[] {
    return this.frames.flatMap((frame) => recordsOf(frame).map((record) => record[field]))
  }

  /** Returns the list in the order of ids. */
  list(): LiveRecord[] {
    return sortById([...this.records.values()])
  }

  #close(response: IncomingMessage): void {
    if (this.#response === response) this.isClosed = true
  }

  #take(text: string): void {
    let event = 'message'
    const data: string[] = []
    for (const line of text.split('\n')) {
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (field === 'id') this.lastId = value
      else if (field === 'event') event = value
      else if (field === 'data') data.push(value)
    }
    // A comment, or the time to wait before coming back.
    if (data.length === 0) return
    const frame = { event, data: JSON.parse(data.join('\n')) }
    this.#onFrame(frame)
    this.#apply(frame)
    this.frames.push(frame)
  }

  #apply(frame: Frame): void {
    const { event, data } = frame
    if (event === 'snapshot') this.records.clear()
    if (event === 'removed' || event === 'left') this.records.delete((data as LiveRecord)._id)
    else for (const record of recordsOf(frame)) this.records.set(record._id, record)
  }
}

/** Returns the whole records of a frame: none of one that has the id alone. */
export function recordsOf({ event, data }: Frame): readonly LiveRecord[] {
  if (event === 'resync' || event === 'end' || event === 'left') return []
  const { data: page } = data as { data?: unknown }
  const records = (event === 'snapshot' ? (page ?? data) : [data]) as LiveRecord[]
  return [records].flat().filter((record) => Object.keys(record).length > 1)
}

/** Returns records in the order of their ids. */
export function sortById(records: readonly LiveRecord[]): LiveRecord[] {
  return [...records].sort((one, other) => (one._id < other._id ? -1 : 1))
}
