import { MIMEType } from 'node:util'
import type { FastifyInstance, preParsingHookHandler } from 'fastify'
import { UnsupportedMediaType } from '../../core/index.ts'

const VERBS_WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Longest content type with parameters: Node reads many spaces in quadratic time. */
const MAX_TYPE_LENGTH = 256

/**
 * Makes the routes of a scope refuse compressed bodies, of which 48 kB may hold 50 MB, and bodies
 * in an encoding other than UTF-8, with 415. `compress({ globalDecompression: true })` has
 * decompressed bodies before this check.
 */
export function refuseOtherEncodings(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    // Only for verbs that may have a body, so that reads cost nothing.
    if (![route.method].flat().some((verb) => VERBS_WITH_BODY.includes(verb))) return
    route.preParsing = [...[route.preParsing ?? []].flat(), checkEncodings]
  })
}

const checkEncodings: preParsingHookHandler = (request, _reply, payload, done) => {
  const encoding = request.headers['content-encoding']
  // By this property Fastify knows a body that another hook decodes.
  const isDecoded = payload.receivedEncodedLength !== undefined
  if (encoding !== undefined && !isDecoded && encoding.toLowerCase() !== 'identity') {
    done(new UnsupportedMediaType('Bodies with a content encoding are not accepted'))
  } else if (hasOtherCharset(request.headers['content-type'] ?? '')) {
    done(new UnsupportedMediaType('Bodies are read as UTF-8 only'))
  } else done(null, payload)
}

// Clients use few types: the last good one with parameters is remembered.
let lastGood = ''

/** Whether a content type names an encoding other than UTF-8; a value may stand in quotes. */
function hasOtherCharset(contentType: string): boolean {
  if (!contentType.includes(';') || contentType === lastGood) return false
  if (contentType.length > MAX_TYPE_LENGTH) return true
  if (toCharset(contentType).toLowerCase() !== 'utf-8') return true
  lastGood = contentType
  return false
}

/**
 * Returns the encoding that a content type names, `utf-8` for none and `''` if it can't be read.
 */
function toCharset(contentType: string): string {
  try {
    return new MIMEType(contentType).params.get('charset') ?? 'utf-8'
  } catch {
    return ''
  }
}
