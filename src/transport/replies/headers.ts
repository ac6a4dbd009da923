import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpAnswer } from '../../core/index.ts'
import { ERROR_CODE } from '../logging/logger.ts'
import { redactText } from '../logging/redact.ts'
import type { LoginPaths } from '../routing/guarded-paths.ts'

/** Headers that delimit the body, which the server sets itself. */
const FRAMING: ReadonlySet<string> = new Set(['transfer-encoding', 'trailer'])

/**
 * Sets the headers and the location of `context.http`. An empty location and headers that are `null` or `undefined` are
 * skipped.
 * @throws {TypeError} a name or value is invalid in HTTP
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

/** Removes what {@link setHeaders} has set, and the headers about the body, as another response is sent instead. */
export function removeHeaders(reply: FastifyReply, http: HttpAnswer): void {
  for (const name of Object.keys(http.headers ?? {})) {
    if (!isVary(name)) reply.removeHeader(name)
  }
  reply.removeHeader('etag').removeHeader('location')
}

/** `Vary` is set in several places, so it is only added to, never removed. */
function isVary(name: string): boolean {
  return name.toLowerCase() === 'vary'
}

/** Adds a request header to `Vary`. */
export function addVary(reply: FastifyReply, name: string): void {
  const vary = reply.getHeader('vary') ?? ''
  if (vary === '') reply.header('vary', name)
  else if (!`${vary}`.split(/, ?/).includes(name)) reply.header('vary', `${vary}, ${name}`)
}

/**
 * Percent-encodes characters that a URL cannot contain. Keeps what is already encoded, and the brackets of an IPv6
 * address.
 */
function encodeLocation(location: string): string {
  // A URL cannot contain a lone surrogate, and the text may come from a client.
  const encoded = encodeURI(String(location).toWellFormed()).replace(/%25([0-9a-f]{2})/gi, '%$1')
  return encoded.replace(IPV6_HOST, '$1[$2]')
}

const IPV6_HOST = /^([a-z]+:\/\/)%5B([0-9a-f:.]+)%5D/i

/** Keeps a response out of caches, and therefore from being compressed. */
export function setPrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  addVary(reply, 'authorization')
}

/**
 * Keeps a response that no service has created, such as an error, out of caches if the request has credentials or is
 * for an authentication service. It searches the whole URL, which would be too slow for successful responses.
 */
export function keepPrivate(
  loginPaths: LoginPaths,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const url = request.raw.url ?? ''
  const hasCredentials = request.headers.authorization !== undefined || redactText(url) !== url
  if (hasCredentials || loginPaths.includes(url)) setPrivate(reply)
}

/**
 * Marks a response that may be compressed for other clients: caches keep the encodings apart, and its entity tag is
 * weak, since a strong one identifies exact bytes.
 * @see RFC 9110 §8.8.1
 */
export function setEncodable(reply: FastifyReply): void {
  addVary(reply, 'accept-encoding')
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', `W/${tag}`)
}

/** Sends the code of an error. Codes of custom errors may be strings that no header can have: these are not sent. */
export function setErrorCode(reply: FastifyReply, errorCode: unknown): void {
  if (typeof errorCode === 'string' && /^\w{1,64}$/.test(errorCode)) {
    reply.header(ERROR_CODE, errorCode)
  }
}
