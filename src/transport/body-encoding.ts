import type { FastifyInstance, preParsingHookHandler } from 'fastify'
import { UnsupportedMediaType } from '../core/index.ts'

const VERBS_WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Makes the routes of a scope refuse compressed bodies with 415: what 48 kB hold may be 50 MB. Where
 * they are wanted, `compress({ globalDecompression: true })` has read them before this looks.
 */
export function refuseEncodedBodies(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    // Only where a body may come, so that reading costs nothing.
    if (![route.method].flat().some((verb) => VERBS_WITH_BODY.includes(verb))) return
    route.preParsing = [...[route.preParsing ?? []].flat(), checkEncoding]
  })
}

const checkEncoding: preParsingHookHandler = (request, _reply, payload, done) => {
  const encoding = request.headers['content-encoding']
  // By this property Fastify knows a body that another hook decodes.
  const isDecoded = payload.receivedEncodedLength !== undefined
  if (encoding === undefined || isDecoded || encoding.toLowerCase() === 'identity') {
    done(null, payload)
  } else {
    done(new UnsupportedMediaType('Bodies with a content encoding are not accepted'))
  }
}
