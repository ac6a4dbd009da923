import { MAX_MESSAGE_BYTES } from '../limits/size-limits.ts'

/** Length, request id, id of the answered request and opcode: four bytes each. */
export const HEADER_BYTES: number = 16

/** The bytes are not a message of MongoDB's protocol: the connection has to be closed. */
export class ProtocolError extends Error {}

/**
 * Returns a function that takes bytes as they arrive and yields each whole message. The pieces of a
 * message are gathered in a buffer that doubles when it is full, so that a byte is copied about
 * twice at most. The length that a message announces reserves no memory: anyone can announce one.
 */
export function createMessageReader(): (chunk: Buffer) => Generator<Buffer> {
  let gathered = Buffer.alloc(0)
  let size = 0
  return function* read(chunk) {
    for (let at = 0; at < chunk.length; ) {
      const left = chunk.length - at
      if (size === 0 && left >= 4 && left >= readLength(chunk, at)) {
        const end = at + readLength(chunk, at)
        yield chunk.subarray(at, end)
        at = end
        continue
      }
      const length = size < 4 ? 4 : readLength(gathered, 0)
      const count = Math.min(length - size, left)
      if (size + count > gathered.length) {
        const larger = Buffer.alloc(Math.min(Math.max((size + count) * 2, 1024), MAX_MESSAGE_BYTES))
        gathered.copy(larger, 0, 0, size)
        gathered = larger
      }
      chunk.copy(gathered, size, at, at + count)
      size += count
      at += count
      if (size >= 4 && size === readLength(gathered, 0)) {
        yield gathered.subarray(0, size)
        gathered = Buffer.alloc(0)
        size = 0
      }
    }
  }
}

function readLength(bytes: Buffer, at: number): number {
  const length = bytes.readInt32LE(at)
  if (length >= HEADER_BYTES && length <= MAX_MESSAGE_BYTES) return length
  throw new ProtocolError(`A message of ${length} bytes is not allowed`)
}
