import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpAnswer } from '../../core/index.ts'
import { redactText } from '../logging/redact.ts'
import type { LoginPaths } from '../routing/guarded-paths.ts'

/** Headers that tell where an answer ends, which the server sets. */
const FRAMING: ReadonlySet<string> = new Set(['transfer-encoding', 'trailer'])

/**
 * Sets the headers and the location of `context.http`. An empty location and a header that is
 * `null` or `undefined` are left out.
 * @throws {TypeError} a name or value that HTTP can't carry
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

/**
 * Removes what {@link setHeaders} has set, and what tells of the body, since another answer is sent than
 * the one it was meant for.
 */
export function removeHeaders(reply: FastifyReply, http: HttpAnswer): void {
  for (const name of Object.keys(http.headers ?? {})) {
    if (!isVary(name)) reply.removeHeader(name)
  }
  reply.removeHeader('etag').removeHeader('location')
}

/** `Vary` is set in several places, so it is added to and never removed. */
function isVary(name: string): boolean {
  return name.toLowerCase() === 'vary'
}

/** Names one more request header that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const vary = reply.getHeader('vary') ?? ''
  if (vary === '') reply.header('vary', name)
  else if (!`${vary}`.split(/, ?/).includes(name)) reply.header('vary', `${vary}, ${name}`)
}

/**
 * Percent-encodes what a URL can't hold, and leaves alone what is encoded already, and the brackets
 * of an IPv6 address, which is none without them.
 */
function encodeLocation(location: string): string {
  // No URL can hold half of a character: the text may come from a client.
  const encoded = encodeURI(String(location).toWellFormed()).replace(/%25([0-9a-f]{2})/gi, '%$1')
  return encoded.replace(IPV6_HOST, '$1[$2]')
}

const IPV6_HOST = /^([a-z]+:\/\/)%5B([0-9a-f:.]+)%5D/i

/** Keeps an answer out of caches, and with that from being compressed. */
export function setPrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  addVary(reply, 'authorization')
}

/**
 * Keeps an answer that no service has made, an error for example, out of caches where the request
 * holds credentials or is for an authentication service. It searches the whole URL, which would be
 * too slow for successful answers.
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
 * Marks an answer that may be compressed for other clients: caches keep the encodings apart, and its entity tag is
 * weak, since a strong one stands for the same bytes.
 * @see RFC 9110 §8.8.1
 */
export function setEncodable(reply: FastifyReply): void {
  addVary(reply, 'accept-encoding')
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', `W/${tag}`)
}
