import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { toCheckedStream } from './checked-stream.ts'

/** Writes a body as JSON. */
export type BodySerializer = (body: object) => string

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Sends a body as JSON. `null` and `undefined` send no body; streams and bytes are sent as they
 * are, and so is a string to which a hook gave another content type, `text/csv` for example.
 * @param serialize what writes objects. Default: `JSON.stringify`
 * @throws {TypeError} a body that has no JSON: a function, for example
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
  // With another content type Fastify refuses objects, by an error that nothing can catch.
  if (!isJsonOrNoType(reply)) reply.send((serialize ?? JSON.stringify)(body))
  else {
    if (serialize !== null) setSerializer(reply, serialize)
    reply.send(body)
  }
}

/** For HEAD, closes a stream without reading it: it may be endless, and Fastify would read it to its end. */
function sendAsItIs(reply: FastifyReply, body: object): void {
  if (reply.request.method !== 'HEAD' || ArrayBuffer.isView(body)) {
    reply.send(toCheckedStream(body))
    return
  }
  const { status, headers, body: inner = body } = body as Partial<Response>
  if (status !== undefined) reply.code(status)
  for (const [name, value] of headers ?? []) reply.header(name, value)
  const { destroy, cancel } = (inner ?? {}) as Partial<Readable & ReadableStream>
  if (destroy !== undefined) destroy.call(inner)
  else cancel?.call(inner).catch(() => undefined)
  reply.send()
}

/** Fastify takes the type of what another serializer writes for unknown. */
function setSerializer(reply: FastifyReply, serialize: BodySerializer): void {
  if (!reply.hasHeader('content-type')) reply.header('content-type', JSON_TYPE)
  reply.serializer(serialize)
}

function toJSONText(body: unknown): string {
  // A `toJSON` makes no data of a function: it would bypass the result schema.
  const text = typeof body === 'function' ? undefined : JSON.stringify(body)
  if (text === undefined) throw new TypeError(`The result is a ${typeof body}, no data`)
  return text
}

/**
 * Whether `toJSON()` of an object returns nothing; buffers have one too, but are sent as they are.
 */
function hasNoJSON(body: { toJSON?: unknown }): boolean {
  if (typeof body.toJSON !== 'function' || ArrayBuffer.isView(body)) return false
  return body.toJSON() === undefined
}

/** Sends the JSON of an error, in place of the content type that hooks may have set. */
export function sendErrorBody(reply: FastifyReply, body: object): void {
  reply.header('x-content-type-options', 'nosniff').header('content-type', JSON_TYPE).send(body)
}

/** Whether a body is sent as JSON. */
export function isSentAsJson(reply: FastifyReply, body: unknown): boolean {
  return body !== undefined && body !== null && isJsonOrNoType(reply) && !isSentAsItIs(body)
}

function isJsonOrNoType(reply: FastifyReply): boolean {
  const type = reply.getHeader('content-type')
  return type === undefined || String(type).includes('json')
}

/** Whether a body is bytes, or something to read them from. */
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

/** Whether a body is a stream whose length no header names: it may well have no end. */
export function isEndless(reply: FastifyReply, body: unknown): boolean {
  if (!isSentAsItIs(body) || ArrayBuffer.isView(body) || reply.hasHeader('content-length')) {
    return false
  }
  return !(isResponse(body as object) && (body as Response).headers.has('content-length'))
}

/** Whether a body has no class, as most have none: to look for each absent name takes time. */
function isPlain(body: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(body)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

/**
 * Told by its tag: to name the class `Response` would load all of Node's `fetch`, which takes
 * 20 ms.
 */
function isResponse(body: { [Symbol.toStringTag]?: unknown }): boolean {
  return body[Symbol.toStringTag] === 'Response'
}
