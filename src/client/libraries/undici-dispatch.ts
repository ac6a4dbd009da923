import { isSuccess, MAX_ERROR_BYTES } from '../answers/error-body.ts'

/** What undici sends requests by: an `Agent`, a `Pool`, a `MockAgent`. */
export interface UndiciDispatcher {
  /** Sends a request, and calls the methods of the handler with what comes back. */
  dispatch(options: object, handler: object): unknown
}

/** Headers by their names in lower case. */
export type UndiciHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** An answer whose body has been read. */
export interface UndiciBytes {
  readonly statusCode: number
  readonly headers: UndiciHeaders
  readonly body: Uint8Array<ArrayBuffer>
}

/** What ends a request of undici 7 and later. */
interface Controller {
  abort(reason: unknown): void
}

const LATIN_1 = new TextDecoder('latin1')

/** Names and values of headers in turns, as bytes. */
type RawHeaders = readonly (Uint8Array | readonly Uint8Array[])[]

type Bytes = Uint8Array<ArrayBuffer>

/**
 * Resolves to the answer to a request. The dispatcher gives the handler what aborts it, so that the
 * time limit of a call needs no `AbortSignal`, and the body is collected without a stream.
 */
export function dispatch(
  dispatcher: UndiciDispatcher,
  options: object,
  signal: AbortSignal | undefined,
): Promise<UndiciBytes> {
  return new Promise((resolve, reject) => {
    const chunks: Bytes[] = []
    let length = 0
    let statusCode = 0
    let headers: UndiciHeaders = {}
    let abort = (_reason: unknown): void => undefined
    const start = (given: typeof abort): void => {
      abort = given
      // It may have waited for a connection until now.
      if (signal?.aborted) abort(signal.reason)
    }
    signal?.addEventListener('abort', () => abort(signal.reason))
    const begin = (status: number, given: UndiciHeaders): true => {
      statusCode = status
      headers = given
      return true
    }
    const end = (): void => resolve({ statusCode, headers, body: joinChunks(chunks, length) })
    const add = (chunk: Bytes): boolean => {
      chunks.push(chunk)
      length += chunk.length
      if (isSuccess(statusCode) || length <= MAX_ERROR_BYTES) return true
      // No error of a service is as long.
      chunks.length = length = 0
      end()
      abort(new Error('The body is too long for an error'))
      return true
    }
    dispatcher.dispatch(options, {
      // Called by undici 7 and later.
      onRequestStart: (controller: Controller) => start((reason) => controller.abort(reason)),
      onResponseStart: (_controller: Controller, status: number, given: UndiciHeaders) =>
        begin(status, given),
      onResponseData: (_controller: Controller, chunk: Bytes) => add(chunk),
      onResponseEnd: end,
      onResponseError: (_controller: Controller | null, error: unknown) => reject(error),
      // Called by undici 6, whose dispatcher `fetch` of Node 20 and 22 leaves behind for all versions.
      onConnect: start,
      onHeaders: (status: number, raw: RawHeaders) => begin(status, toHeaders(raw)),
      onData: add,
      onComplete: end,
      onError: reject,
    })
  })
}

function joinChunks(chunks: readonly Bytes[], length: number): Bytes {
  const [first] = chunks
  if (first?.length === length) return first
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

function toHeaders(raw: RawHeaders): UndiciHeaders {
  // The record has no prototype: a server may send any name.
  const headers: Record<string, string> = Object.create(null)
  const decode = (value: RawHeaders[number] = []): string =>
    (value instanceof Uint8Array ? [value] : value).map((one) => LATIN_1.decode(one)).join(', ')
  for (let index = 0; index < raw.length; index += 2) {
    const name = decode(raw[index]).toLowerCase()
    const value = decode(raw[index + 1])
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return headers
}
