import type { FastifyReply } from 'fastify'

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Sends a body as JSON; `null` and `undefined` as no body, streams and bytes as they are, and text as
 * it is where a hook gave it a type of its own, `text/csv` for example.
 * @throws {TypeError} a body that JSON has nothing for: a function, for example
 */
export function sendBody(reply: FastifyReply, body: unknown): void {
  reply.header('x-content-type-options', 'nosniff')
  if (body === undefined || body === null) reply.send()
  else if (typeof body === 'string' && !isJsonOrNoType(reply)) reply.send(body)
  else if (typeof body !== 'object') {
    reply.header('content-type', JSON_TYPE).send(toJSONText(body))
  } else if (hasNoJSON(body)) throw new TypeError('toJSON() of the result returns nothing')
  else if (isJsonOrNoType(reply) || isSentAsItIs(body)) reply.send(body)
  // With another content type Fastify takes no object, and throws where nothing can catch it.
  else reply.send(JSON.stringify(body))
}

function toJSONText(body: unknown): string {
  const text = JSON.stringify(body)
  if (text === undefined) throw new TypeError(`The result is a ${typeof body}, no data`)
  return text
}

/** Whether an object says itself that it is nothing; bytes would be listed, and are sent as they are. */
function hasNoJSON(body: { toJSON?: unknown }): boolean {
  if (typeof body.toJSON !== 'function' || ArrayBuffer.isView(body)) return false
  return body.toJSON() === undefined
}

/** Sends the JSON of an error, whatever type the answer would have had. */
export function sendErrorBody(reply: FastifyReply, body: object): void {
  reply.header('content-type', JSON_TYPE)
  sendBody(reply, body)
}

function isJsonOrNoType(reply: FastifyReply): boolean {
  const type = reply.getHeader('content-type')
  return type === undefined || String(type).includes('json')
}

/** Whether a body is bytes, or something to read them from. */
export function isSentAsItIs(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return ArrayBuffer.isView(body) || 'pipe' in body || 'getReader' in body || isResponse(body)
}

/** By its tag: to name the class would load Node's whole `fetch`, which takes longer than our start. */
function isResponse(body: { [Symbol.toStringTag]?: unknown }): boolean {
  return body[Symbol.toStringTag] === 'Response'
}
