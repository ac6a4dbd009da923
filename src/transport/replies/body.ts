import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { toCheckedStream } from './checked-stream.ts'

/** Writes a body as JSON. */
export type BodySerializer = (body: object) => string

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Sends a body as JSON. `null` and `undefined` send no body; streams and bytes are sent unchanged, as is a string for
 * which a hook has set another content type, such as `text/csv`.
 * @param serialize writes objects. Default: `JSON.stringify`
 * @throws {TypeError} JSON cannot represent the body, for example a function
 */
export function sendBody(
  reply: FastifyReply,
  body: unknown,
  serialize: BodySerializer | null = null,
): void {
  reply.header('x-content-type-options', 'nosniff')
  if (body === undefined || body === null) reply.send()
  else if (typeof body === 'object' && isPlain(body) && !Object.hasOwn(body, 'toJSON')) {
    sendJSON(reply, body, serialize)
  } else if (typeof body === 'string' && !isJsonOrNoType(reply)) reply.send(body)
  else if (typeof body !== 'object') {
    reply.header('content-type', JSON_TYPE).send(toJSONText(body))
  } else if (hasNoJSON(body)) throw new TypeError('toJSON() of the result returns nothing')
  else if (isSentAsItIs(body)) sendAsItIs(reply, body)
  else sendJSON(reply, body, serialize)
}

function sendJSON(reply: FastifyReply, body: object, serialize: BodySerializer | null): void {
  // With another content type Fastify rejects objects, with an error that cannot be caught.
  if (!isJsonOrNoType(reply)) reply.send((serialize ?? JSON.stringify)(body))
  else {
    if (serialize !== null) setSerializer(reply, serialize)
    reply.send(body)
  }
}

/** For HEAD, closes a stream without reading it: it may be endless, and Fastify would read all of it. */
function sendAsItIs(reply: FastifyReply, body: object): void {
  if (reply.request.method !== 'HEAD' || ArrayBuffer.isView(body)) {
    reply.send(toCheckedStream(body))
    return
  }
  const { status, headers } = body as Partial<Response>
  if (status !== undefined) reply.code(status)
  for (const [name, value] of headers ?? []) reply.header(name, value)
  discardBody(body)
  reply.send()
}

/** The methods that close Node and web streams. */
interface Closable extends Pick<Readable, 'destroy'>, Pick<ReadableStream, 'cancel'> {
  on(event: 'error', listener: () => void): unknown
}

/** Closes a body that will not be sent, if it is a stream. */
export function discardBody(body: unknown): void {
  if (!isSentAsItIs(body) || ArrayBuffer.isView(body)) return
  const inner = isResponse(body as object) ? (body as Response).body : body
  const { destroy, cancel, on } = (inner ?? {}) as Partial<Closable>
  // The stream may still emit an error, which would end the process if nothing listened.
  on?.call(inner, 'error', () => undefined)
  if (destroy !== undefined) destroy.call(inner)
  else cancel?.call(inner)?.catch(() => undefined)
}

/** Fastify does not know the content type of what a custom serializer writes. */
function setSerializer(reply: FastifyReply, serialize: BodySerializer): void {
  if (!reply.hasHeader('content-type')) reply.header('content-type', JSON_TYPE)
  reply.serializer(serialize)
}

function toJSONText(body: unknown): string {
  // A function with `toJSON` is still not data: it would bypass the result schema.
  const text = typeof body === 'function' ? undefined : JSON.stringify(body)
  if (text === undefined) throw new TypeError(`The result is a ${typeof body}, no data`)
  return text
}

/** Returns whether `toJSON()` of an object returns nothing. Buffers have a `toJSON` too, but are sent unchanged. */
function hasNoJSON(body: { toJSON?: unknown }): boolean {
  if (typeof body.toJSON !== 'function' || ArrayBuffer.isView(body)) return false
  return body.toJSON() === undefined
}

/** Sends an error as JSON, replacing a content type that hooks may have set. */
export function sendErrorBody(reply: FastifyReply, body: object): void {
  reply.header('x-content-type-options', 'nosniff').header('content-type', JSON_TYPE).send(body)
}

/** Returns whether a body is sent as JSON. */
export function isSentAsJson(reply: FastifyReply, body: unknown): boolean {
  return body !== undefined && body !== null && isJsonOrNoType(reply) && !isSentAsItIs(body)
}

function isJsonOrNoType(reply: FastifyReply): boolean {
  const type = reply.getHeader('content-type')
  return type === undefined || String(type).includes('json')
}

/** Returns whether a body is bytes, or a source of bytes. */
export function isSentAsItIs(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || isPlain(body)) return false
  const { pipe, getReader } = body as { pipe?: unknown; getReader?: unknown }
  return (
    ArrayBuffer.isView(body) ||
    typeof pipe === 'function' ||
    typeof getReader === 'function' ||
    isResponse(body)
  )
}

/** Returns whether a body is a stream without a Content-Length, which may be endless. */
export function isEndless(reply: FastifyReply, body: unknown): boolean {
  if (!isSentAsItIs(body) || ArrayBuffer.isView(body) || reply.hasHeader('content-length')) {
    return false
  }
  return !(isResponse(body as object) && (body as Response).headers.has('content-length'))
}

/** Returns whether a body is a plain object, as most are: looking for each missing method takes time. */
function isPlain(body: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(body)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

/** Checks the tag: naming the class `Response` would load all of Node's `fetch`, which takes 20 ms. */
function isResponse(body: { [Symbol.toStringTag]?: unknown }): boolean {
  return body[Symbol.toStringTag] === 'Response'
}
