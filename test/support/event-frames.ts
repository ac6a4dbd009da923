import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as sendRequest } from 'node:http'

/** One event of a stream. */
export interface Frame {
  readonly event: string
  /** `''` makes clients forget where they are; `undefined` changes nothing. */
  readonly id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  readonly data: any
}

/** The part of a tap test that opens things here. */
interface TestScope {
  teardown(close: () => unknown): void
}

/** An answer that is a stream of events, as a client has it. */
export class EventFrames {
  readonly headers: IncomingHttpHeaders
  /** All that has come so far. */
  readonly frames: Frame[] = []
  /** How many comments have come. */
  comments = 0
  retryMs: number | undefined
  /** What a client sends as `Last-Event-ID`. */
  lastId = ''
  /** Whether the server has ended the stream, or the connection has. */
  hasEnded = false
  readonly #response: IncomingMessage
  readonly #waiting: (() => void)[] = []
  #taken = 0
  #rest = ''

  constructor(response: IncomingMessage) {
    this.#response = response
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      this.#read(text)
      this.#wake()
    })
    response.on('error', () => undefined)
    response.on('close', () => {
      this.hasEnded = true
      this.#wake()
    })
  }

  /** Resolves to the next frame that no call has resolved to. */
  async next(): Promise<Frame> {
    while (this.#taken === this.frames.length && !this.hasEnded) await this.#news()
    const frame = this.frames[this.#taken]
    if (frame === undefined) throw new Error('The stream has ended')
    this.#taken += 1
    return frame
  }

  /** Resolves to the next frames up to the first of which this holds. */
  async upTo(isLast: (frame: Frame) => unknown): Promise<Frame[]> {
    const frames: Frame[] = []
    for (;;) {
      const frame = await this.next()
      frames.push(frame)
      if (isLast(frame)) return frames
    }
  }

  /** Resolves to the frames that no call has resolved to, when the stream has ended. */
  async rest(): Promise<Frame[]> {
    while (!this.hasEnded) await this.#news()
    const frames = this.frames.slice(this.#taken)
    this.#taken = this.frames.length
    return frames
  }

  /** Reads no more, without a word to the server. */
  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  /** Goes away, without a word. */
  async close(): Promise<void> {
    this.#response.destroy()
    while (!this.hasEnded) await this.#news()
  }

  /** Resolves when something has come, or the stream has ended: hundreds of them are too many to poll. */
  #news(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #read(text: string): void {
    const blocks = `${this.#rest}${text}`.split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) this.#readBlock(block)
  }

  #readBlock(block: string): void {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
      if (name === '') this.comments += 1
      else fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value)
    }
    const id = fields.get('id')
    if (id !== undefined) this.lastId = id
    if (fields.has('retry')) this.retryMs = Number(fields.get('retry'))
    const data = fields.get('data')
    if (data === undefined) return
    this.frames.push({ event: fields.get('event') ?? 'message', id, data: JSON.parse(data) })
  }
}

/** An answer that is no stream. */
export interface Refusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  readonly body: any
}

type RequestHeaders = Readonly<Record<string, string | string[]>>

/**
 * Asks for a stream. Resolves to it, or to what was answered instead.
 * @param body that of a `POST`, as JSON unless it is a string. Default: a `GET` is sent
 */
export function askForFrames(
  t: TestScope,
  url: string,
  headers: RequestHeaders = {},
  body?: unknown,
): Promise<EventFrames | Refusal> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const options = {
      agent: false,
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'text/event-stream', ...type, ...headers },
    } as const
    const request = sendRequest(url, options, (response) => {
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        resolve(new EventFrames(response))
        return
      }
      response.toArray().then((chunks) => {
        const text = Buffer.concat(chunks).toString()
        const isJSON = response.headers['content-type']?.includes('json') === true
        const body = isJSON ? JSON.parse(text) : text
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      }, reject)
    })
    t.teardown(() => request.destroy())
    request.on('error', reject)
    request.end(typeof body === 'object' ? JSON.stringify(body) : body)
  })
}

/** Opens a stream; rejects where there is none. */
export async function openFrames(
  t: TestScope,
  url: string,
  headers?: RequestHeaders,
  body?: unknown,
): Promise<EventFrames> {
  const answer = await askForFrames(t, url, headers, body)
  if (answer instanceof EventFrames) return answer
  throw new Error(`No stream: ${answer.status} ${JSON.stringify(answer.body)}`)
}
