import type { FastifyInstance } from 'fastify'
import { BadRequest } from '../core/index.ts'
import { toStatusError } from './error-handler.ts'

/** Most headers of one request; Node would drop those beyond its own limit without a word. */
const MAX_HEADERS = 100

/**
 * Refuses requests that HTTP leaves open to more than one reading: several `Host` headers, more
 * headers than are kept, no version at all.
 * @see RFC 9112 §3.2
 */
export function addRequestGuard(server: FastifyInstance): void {
  server.server.maxHeadersCount = 0
  server.addHook('onRequest', (request, _reply, done) => {
    const { rawHeaders, httpVersionMajor } = request.raw
    if (httpVersionMajor < 1) return done(new BadRequest('HTTP/0.9 is not supported'))
    if (rawHeaders.length > 2 * MAX_HEADERS) {
      return done(toStatusError(431, `The request has more than ${MAX_HEADERS} headers`))
    }
    if (countHosts(rawHeaders) > 1) return done(new BadRequest('The request has several hosts'))
    return done()
  })
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}
