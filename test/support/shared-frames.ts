import type { EventFrames, Frame } from './event-frames.ts'

/** Opens a connection for a list of subscriptions. */
type Share = (subscriptions: readonly object[]) => Promise<EventFrames>

/** A client with one connection for all of its streams, as docs tell to write one. */
export class SharedFrames {
  readonly #share: Share
  readonly #parts = new Map<string, FramesOfOne>()
  #connection: EventFrames | null = null
  #turn: Promise<unknown> = Promise.resolve()
  #count = 0

  constructor(share: Share) {
    this.#share = share
  }

  /**
   * Opens a further stream. Resolves when the server has said that it is open.
   * @param after the id of the last frame that is known of it
   */
  async open(url: string, after = ''): Promise<FramesOfOne> {
    this.#count += 1
    const part = new FramesOfOne(`s${this.#count}`, url, after, () => this.#drop(part))
    this.#parts.set(part.id, part)
    await this.#renew()
    return part
  }

  /** Loses the connection, and goes on by the next one. */
  async cut(): Promise<void> {
    await this.#turn
    await this.#connection?.close()
    await this.#renew()
  }

  async #drop({ id }: FramesOfOne): Promise<void> {
    this.#parts.delete(id)
    await this.#renew()
  }

  /** Opens the next connection, one after the other. */
  #renew(): Promise<void> {
    const renewed = this.#turn.then(() => this.#openNext())
    this.#turn = renewed.catch(() => undefined)
    return renewed
  }

  async #openNext(): Promise<void> {
    const last = this.#connection
    const parts = [...this.#parts.values()]
    this.#connection = null
    if (parts.length > 0) {
      const list = parts.map(({ id, url, lastId: after }) => ({ id, url, ...(after && { after }) }))
      this.#connection = await this.#share(list)
      await this.#read(this.#connection, new Set(parts.map(({ id }) => id)))
    }
    await last?.close()
  }

  /** Reads a connection to its end. Resolves when it has answered all of these subscriptions. */
  #read(connection: EventFrames, waiting: Set<string>): Promise<void> {
    return new Promise((resolve, reject) => {
      const read = async (): Promise<void> => {
        for (;;) {
          const frame = await connection.next()
          const [id = '', event = ''] = frame.event.split('/')
          const part = this.#parts.get(id)
          if (event === 'open' || event === 'end') {
            waiting.delete(id)
            if (part !== undefined) {
              part.source = connection
              // Where the server goes on from: the last connection may have been further.
              part.lastId = frame.id ?? part.lastId
            }
          }
          // What still comes by the last connection is repeated by the next one.
          if (event !== 'open' && part?.source === connection) part.add({ ...frame, event })
          if (waiting.size === 0) resolve()
        }
      }
      read().catch(reject)
    })
  }
}

/** The frames of one of the streams. */
export class FramesOfOne {
  readonly id: string
  readonly url: string
  lastId: string
  /** The connection that the stream is on. */
  source: EventFrames | null = null
  readonly #drop: () => Promise<void>
  readonly #frames: Frame[] = []
  #wake: () => void = () => undefined

  constructor(id: string, url: string, after: string, drop: () => Promise<void>) {
    this.id = id
    this.url = url
    this.lastId = after
    this.#drop = drop
  }

  add(frame: Frame): void {
    if (frame.id !== undefined) this.lastId = frame.id
    this.#frames.push(frame)
    this.#wake()
  }

  /** Resolves to the next frame that no call has resolved to. */
  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift()
      if (frame !== undefined) return frame
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Returns the frames that no call has resolved to. */
  rest(): Frame[] {
    return this.#frames.splice(0)
  }

  /** Gives the stream up: the client opens a connection without it. */
  close(): Promise<void> {
    return this.#drop()
  }
}
