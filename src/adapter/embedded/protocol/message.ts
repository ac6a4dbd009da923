import type { Document } from 'bson'
import { ByteUtils, DBRef, onDemand, serialize } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { decodeStored } from '../../matching/decode.ts'
import { isIndex, setField } from '../../matching/field-paths.ts'
import { MAX_MESSAGE_BYTES } from '../limits.ts'

/** The maximum nesting of documents and arrays. */
export const MAX_LEVELS = 200
const OP_REPLY = 1
const OP_QUERY = 2004
const OP_MSG = 2013
const CHECKSUM_PRESENT = 1
const MORE_TO_COME = 2
const KNOWN_FLAGS = CHECKSUM_PRESENT | MORE_TO_COME
/** A message with an unknown flag among the lower 16 bits must be rejected. */
const REQUIRED_FLAGS = 0xffff

/** One message from a client: what was asked, and how the reply must be framed. */
export interface Request {
  readonly requestId: number
  /** Whether it came as OP_QUERY, whose reply is an OP_REPLY. */
  readonly legacy: boolean
  readonly wantsReply: boolean
  /**
   * Returns the command, with the documents that were sent in separate sections.
   * @throws {CommandError} 15, 22 the BSON is nested too deeply or not valid
   */
  readonly readBody: () => Document
}

/** Returns the request in a whole message. @throws {ProtocolError} it is not a request */
export function parseMessage(message: Buffer): Request {
  const opcode = message.readInt32LE(12)
  if (opcode === OP_MSG) return parseOpMsg(message)
  if (opcode === OP_QUERY) return parseOpQuery(message)
  throw new ProtocolError(`Opcode ${opcode} is not supported by the embedded server`)
}

/** Returns the framed reply to a request. */
export function encodeReply(request: Request, reply: Document): Buffer {
  const body = serialize(reply, { ignoreUndefined: true })
  const prefix = request.legacy ? 20 : 5
  const head = Buffer.alloc(HEADER_BYTES + prefix)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(request.requestId, 8)
  head.writeInt32LE(request.legacy ? OP_REPLY : OP_MSG, 12)
  // OP_REPLY: flags, cursor id (8 bytes), starting position, number of documents.
  if (request.legacy) head.writeInt32LE(1, HEADER_BYTES + 16)
  return Buffer.concat([head, body])
}

function parseOpMsg(message: Buffer): Request {
  if (message.length < HEADER_BYTES + 5) throw new ProtocolError('An empty OP_MSG')
  const flags = message.readUInt32LE(HEADER_BYTES)
  if ((flags & REQUIRED_FLAGS & ~KNOWN_FLAGS) !== 0) {
    throw new ProtocolError(`Unknown OP_MSG flags ${flags}`)
  }
  const end = message.length - ((flags & CHECKSUM_PRESENT) === 0 ? 0 : 4)
  const sections = readSections(message, HEADER_BYTES + 4, end)
  return {
    requestId: message.readInt32LE(4),
    legacy: false,
    wantsReply: (flags & MORE_TO_COME) === 0,
    readBody() {
      const body = decode(sections.body)
      for (const { name, documents } of sections.sequences) body[name] = documents.map(decode)
      return body
    },
  }
}

interface Sections {
  readonly body: Buffer
  readonly sequences: readonly { readonly name: string; readonly documents: readonly Buffer[] }[]
}

function readSections(message: Buffer, start: number, end: number): Sections {
  let body: Buffer | undefined
  const sequences: { name: string; documents: Buffer[] }[] = []
  for (let at = start; at < end; ) {
    const kind = message.readUInt8(at)
    const section = readSized(message, at + 1, end)
    if (kind === 0 && body === undefined) body = section
    else if (kind === 1) sequences.push(readSequence(section))
    else throw new ProtocolError(`Unexpected OP_MSG section of kind ${kind}`)
    at += 1 + section.length
  }
  if (body === undefined) throw new ProtocolError('An OP_MSG without a body')
  return { body, sequences }
}

function readSequence(section: Buffer): { name: string; documents: Buffer[] } {
  const nul = section.indexOf(0, 4)
  if (nul < 0) throw new ProtocolError('A document sequence without a name')
  const documents: Buffer[] = []
  for (let at = nul + 1; at < section.length; ) {
    const document = readSized(section, at, section.length)
    documents.push(document)
    at += document.length
  }
  const name = section.toString('utf8', 4, nul)
  if (name === '__proto__') throw new ProtocolError('A document sequence named __proto__')
  return { name, documents }
}

function readSized(bytes: Buffer, at: number, end: number): Buffer {
  if (at + 4 > end) throw new ProtocolError('A truncated section')
  const length = bytes.readInt32LE(at)
  if (length < 5 || at + length > end) throw new ProtocolError('A section with a wrong length')
  return bytes.subarray(at, at + length)
}

/** Drivers still send their very first hello as OP_QUERY on `admin.$cmd`. */
function parseOpQuery(message: Buffer): Request {
  const nul = message.indexOf(0, HEADER_BYTES + 4)
  if (nul < 0) throw new ProtocolError('An OP_QUERY without a collection')
  const namespace = message.toString('utf8', HEADER_BYTES + 4, nul)
  if (!namespace.endsWith('.$cmd')) throw new ProtocolError('OP_QUERY reads are not supported')
  const query = readSized(message, nul + 9, message.length)
  return {
    requestId: message.readInt32LE(4),
    legacy: true,
    wantsReply: true,
    readBody: () => ({ ...decode(query), $db: namespace.slice(0, -'.$cmd'.length) }),
  }
}

function decode(bytes: Buffer): Document {
  try {
    const document = decodeStored(bytes)
    if (prepareDocument(document, MAX_LEVELS)) checkOrder(bytes, 0, document)
    return document
  } catch (error) {
    if (error instanceof CommandError) throw error
    const [code, reason] = error instanceof RangeError ? [15, 'nested too deeply'] : [22, 'invalid']
    throw new CommandError(code, `The BSON of the request is ${reason}`, {}, { cause: error })
  }
}

/**
 * Converts the DBRefs in a document to documents. Returns whether the fields may have been sent in another
 * order.
 * @throws {CommandError} 15 documents and arrays are nested more deeply
 */
export function prepareDocument(value: Document, levels: number): boolean {
  if (levels === 0) throw new CommandError(15, 'The document exceeds the levels of nesting')
  const names = Object.keys(value)
  let isDoubtful = names.length > 1 && isIndex(names[0] ?? '') && !Array.isArray(value)
  for (const name of names) {
    const child: unknown = value[name]
    if (typeof child !== 'object' || child === null) continue
    const isReference = child instanceof DBRef
    const inner: object = isReference ? child.toJSON() : child
    if (isReference) setField(value, name, inner)
    if (!Array.isArray(inner) && !isDocument(inner)) continue
    isDoubtful = prepareDocument(inner, levels - 1) || isReference || isDoubtful
  }
  return isDoubtful
}

/**
 * JavaScript moves names like '2' before all others, and bson moves the fields of a DBRef before its others.
 * @throws {CommandError} 2 the fields of a document were sent in another order
 */
function checkOrder(bytes: Uint8Array, start: number, value: Document): void {
  const elements = Array.from(onDemand.parseToElements(bytes, start))
  const names = elements.map(([, at, length]) => ByteUtils.toUTF8(bytes, at, at + length, true))
  if (names.join('\0') !== Object.keys(value).join('\0')) {
    throw notSupported(`The order of the fields '${names.join("', '")}'`)
  }
  for (const [index, [type, , , at]] of elements.entries()) {
    if (type === 3 || type === 4) checkOrder(bytes, at, value[names[index] ?? ''])
  }
}

/** Length, request id, id of the answered request and opcode: four bytes each. */
const HEADER_BYTES = 16

/** The bytes are not a message of MongoDB's protocol: the connection has to be closed. */
class ProtocolError extends Error {}

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
