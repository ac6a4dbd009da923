import type { Readable } from 'node:stream'
import { pipeline, Transform } from 'node:stream'
import { TransformStream } from 'node:stream/web'

/**
 * Returns a stream, or a `Response`, that fails if the given one has a chunk that is neither a string nor bytes, such
 * as the records of a database cursor. Writing such a chunk to a response would end the process. Other bodies are
 * returned unchanged.
 */
export function toCheckedStream(body: object): object {
  if (hasObjectMode(body)) return checkReadable(body)
  if (isWebStream(body)) return body.pipeThrough(createCheck())
  const { body: stream, bodyUsed } = body as Partial<Response>
  if (!isWebStream(stream) || bodyUsed === true) return body
  const { constructor: ResponseClass } = body as { constructor: typeof Response }
  return new ResponseClass(stream.pipeThrough(createCheck()), body as Response)
}

/** The given stream ends with the returned one, and its errors are passed on. */
function checkReadable(source: Readable): Readable {
  const checked = new Transform({
    writableObjectMode: true,
    transform(chunk: unknown, _encoding, done) {
      if (isWritable(chunk)) done(null, chunk)
      else done(createChunkError(chunk))
    },
  })
  pipeline(source, checked, () => undefined)
  return checked
}

function createCheck(): TransformStream {
  return new TransformStream({
    transform(chunk: unknown, controller) {
      if (!isWritable(chunk)) throw createChunkError(chunk)
      controller.enqueue(chunk)
    },
  })
}

function isWritable(chunk: unknown): boolean {
  return typeof chunk === 'string' || chunk instanceof Uint8Array
}

function createChunkError(chunk: unknown): TypeError {
  const kind = chunk === null ? 'null' : typeof chunk
  return new TypeError(
    `A stream of an answer has a chunk of type ${kind}: only strings and bytes fit`,
  )
}

function hasObjectMode(body: object): body is Readable {
  return (body as Partial<Readable>).readableObjectMode === true
}

function isWebStream(body: unknown): body is ReadableStream {
  return typeof (body as Partial<ReadableStream> | null | undefined)?.pipeThrough === 'function'
}
