import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import type { FastifyBodyParser, FastifyInstance } from 'fastify'
import { BadRequest, UnsupportedMediaType } from '../core/index.ts'
import { checkLimit } from './limits.ts'

/**
 * Adds the parser for a media type whose bodies are text to a scope. Text is UTF-8: what is said to
 * be something else answers 415, what is something else 400. An empty body is no body, as clients
 * send it that name the type on every request.
 * @param bodyLimit largest body, in bytes; `undefined` for the limit of the server
 */
export function addTextParser(
  scope: FastifyInstance,
  mediaType: string,
  bodyLimit: number | undefined,
  parseText: FastifyBodyParser<string>,
): void {
  if (bodyLimit !== undefined) checkLimit(mediaType, 'bodyLimit', bodyLimit)
  const parser: FastifyBodyParser<Buffer> = (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (hasOtherCharset(request.headers['content-type'] ?? '')) {
      return done(new UnsupportedMediaType('Bodies are read as UTF-8 only'), undefined)
    }
    if (!isUtf8(body)) return done(new BadRequest('The body is not valid UTF-8'), undefined)
    return parseText(request, body.toString(), done)
  }
  scope.addContentTypeParser(
    mediaType,
    { parseAs: 'buffer', ...(bodyLimit === undefined ? {} : { bodyLimit }) },
    parser,
  )
}

// Clients use few types: the last good one with parameters is remembered.
let lastGood = ''

/** Whether a content type names an encoding other than UTF-8; a value may stand in quotes. */
function hasOtherCharset(contentType: string): boolean {
  if (!contentType.includes(';') || contentType === lastGood) return false
  if (toCharset(contentType).toLowerCase() !== 'utf-8') return true
  lastGood = contentType
  return false
}

/** Returns the encoding that a content type names, `utf-8` for none and `''` if it can't be read. */
function toCharset(contentType: string): string {
  try {
    return new MIMEType(contentType).params.get('charset') ?? 'utf-8'
  } catch {
    return ''
  }
}
