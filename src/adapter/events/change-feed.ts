import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeStream, ChangeStreamDocument, Document } from 'mongodb'
import { ReplicaSetRequired } from '../../core/errors/coded-errors.ts'
import { isAnswer } from '../driver-error.ts'

/** What a feed reads, and what it calls. */
export interface ChangeFeedOptions<Record extends Document> {
  /** Opens a change stream. */
  readonly watch: () => ChangeStream<Record>
  /**
   * Called when the feed starts to see changes, also after each fault: it must make up for earlier changes.
   * The feed opens once it resolves.
   */
  readonly onOpen: () => unknown
  readonly onChange: (change: ChangeStreamDocument<Record>) => void
  /** Called with the reason why changes are not seen, and with `null` when they are seen again. */
  readonly onFault: (cause: unknown) => void
  /** How long to wait before reopening a change stream that has ended, in milliseconds. */
  readonly pauseMs: number
}

/**
 * The changes of a collection, read from one change stream after the other, since the driver eventually gives
 * one up.
 */
export class ChangeFeed<Record extends Document = Document> {
  readonly #options: ChangeFeedOptions<Record>
  #stream: ChangeStream<Record> | null = null
  #isClosed = false

  constructor(options: ChangeFeedOptions<Record>) {
    this.#options = options
  }

  /**
   * Resolves once changes are seen.
   * @throws {NotImplemented} the server has no change streams
   */
  async open(): Promise<void> {
    const stream = await this.#openStream()
    void this.#follow(stream)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stream?.close()
  }

  async #openStream(): Promise<ChangeStream<Record>> {
    const stream = this.#options.watch()
    this.#stream = stream
    try {
      // The stream begins here: nothing is written between it and `onOpen`.
      await stream.tryNext().catch(refuse)
      await this.#options.onOpen()
      return stream
    } catch (error) {
      await stream.close()
      throw error
    }
  }

  /** Reads until the feed is closed. */
  async #follow(opened: ChangeStream<Record>): Promise<void> {
    const { onChange, onFault, pauseMs } = this.#options
    let stream: ChangeStream<Record> | null = opened
    while (!this.#isClosed) {
      try {
        if (stream === null) {
          stream = await this.#openStream()
          onFault(null)
        }
        for await (const change of stream) onChange(change)
      } catch (error) {
        if (!this.#isClosed) onFault(error)
      }
      await stream?.close().catch(() => undefined)
      stream = null
      if (!this.#isClosed) await pause(pauseMs, undefined, { ref: false })
    }
    // It may have been opened while the feed was closed.
    await this.#stream?.close()
  }
}

function refuse(error: unknown): never {
  if (!isAnswer(error)) throw error
  throw new ReplicaSetRequired('The server has no change streams', null, { cause: error })
}
