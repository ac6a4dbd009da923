import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { HookContext, HttpAnswer } from '../../core/index.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** Headers that say where an answer ends. */
const FRAMING: ReadonlySet<string> = new Set(['transfer-encoding', 'trailer'])

/**
 * Returns the status of an answer: that of the hook, 303 with a location, 204 for no body, 201 for
 * `create`, else 200. Of the values that are falsy only `null` and `undefined` are no body.
 * @throws {TypeError} a status of the hook that ends no request, or is none
 */
export function toStatus(context: HookContext, body: unknown): number {
  const { http } = context
  if (http.status) return checkStatus(http.status)
  if (http.location || http.headers?.['Location']) return 303
  if (body === undefined || body === null) return 204
  return context.method === 'create' ? 201 : 200
}

/** After one below 200 a client waits for another one. */
function checkStatus(status: number): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw new TypeError(`context.http.status must be an integer from 200 to 599, not ${status}`)
}

/**
 * Sets what hooks said about the answer; an empty location and a header that is `null` or `undefined`
 * are not said. @throws {TypeError} a name or value that HTTP can't carry
 */
export function setHeaders(reply: FastifyReply, http: HttpAnswer): void {
  if (http.headers) setOwnHeaders(reply, Object.entries(http.headers))
  if (http.location) reply.header('location', encodeLocation(http.location))
}

function setOwnHeaders(
  reply: FastifyReply,
  all: readonly [name: string, value: string | string[] | null | undefined][],
): void {
  const headers = all.filter(isSet)
  for (const [name, value] of headers) {
    validateHeaderName(name)
    if (FRAMING.has(name.toLowerCase())) {
      throw new TypeError(`The header '${name}' is for the server to set`)
    }
    for (const item of [value].flat()) validateHeaderValue(name, String(item))
  }
  for (const [name, value] of headers) {
    if (isVary(name)) addVary(reply, [value].flat().join(', '))
    else reply.header(name, value)
  }
}

function isSet(header: readonly [string, unknown]): header is [string, string | string[]] {
  return header[1] != null
}

/** Takes back what {@link setHeaders} has set: it was meant for an answer that is not sent. */
export function removeHeaders(reply: FastifyReply, http: HttpAnswer): void {
  for (const name of Object.keys(http.headers ?? {})) {
    if (!isVary(name)) reply.removeHeader(name)
  }
  if (http.location) reply.removeHeader('location')
}

/** Others have a say in it too: it is added to, and never taken away. */
function isVary(name: string): boolean {
  return name.toLowerCase() === 'vary'
}

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

/** Names one more request header that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const vary = reply.getHeader('vary')
  reply.header('vary', vary === undefined ? name : `${vary}, ${name}`)
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

/** Percent-encodes what a URL can't hold, and leaves alone what is encoded already. */
function encodeLocation(location: string): string {
  return encodeURI(toWellFormed(location)).replace(/%25([0-9a-f]{2})/gi, '%$1')
}

/** Replaces lone surrogates, which no URL can hold: the text may come from a client. */
function toWellFormed(text: unknown): string {
  return Buffer.from(String(text)).toString()
}
