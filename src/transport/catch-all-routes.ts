import type { FastifyContentTypeParser, FastifyInstance, onRequestHookHandler } from 'fastify'
import { UnsupportedMediaType } from '../core/index.ts'
import { findMatch, handleAnyRequest, leaveNotFound } from './catch-all-handler.ts'
import type { RestTransport } from './rest-transport.ts'

const VERBS_WITHOUT_BODY: readonly string[] = ['GET', 'HEAD']

/**
 * Adds the routes for requests that match no route of a service. Call it after those were added.
 */
export function addCatchAll(transport: RestTransport, scope: FastifyInstance): void {
  addOtherParser(transport, scope)
  const handler = handleAnyRequest.bind(null, transport)
  const base = scope.prefix.replace(/\/$/, '')
  for (const method of scope.supportedMethods) {
    const isTaken = (url: string): boolean => scope.hasRoute({ method, url: `${base}${url}` })
    // Taken by the root service, or by the host, whose '/*' matches '/' too.
    const isAllTaken = isTaken('/*')
    const mayLeave = transport.leavesNotFound && !VERBS_WITHOUT_BODY.includes(method)
    const onRequest = mayLeave ? [createLeave(transport)] : []
    for (const url of ['/', '/*']) {
      if (isAllTaken || isTaken(url)) continue
      scope.route({ method, url, exposeHeadRoute: false, onRequest, handler })
    }
  }
}

/**
 * A path that belongs to the host gets the 404 of the host, even if its body would be refused here.
 */
function createLeave(transport: RestTransport): onRequestHookHandler {
  return (request, reply, done) => {
    if (findMatch(transport, request) === null) leaveNotFound(transport, request, reply)
    else done()
  }
}

/**
 * Refuses bodies of media types without a parser, except where nothing is served: there the answer
 * is about the path. Bodies that have a parser are read everywhere, since functions of `app.use()`
 * may answer at any path.
 */
function addOtherParser(transport: RestTransport, scope: FastifyInstance): void {
  const parser: FastifyContentTypeParser = (request, _payload, done) => {
    if (findMatch(transport, request) === null) done(null)
    else done(new UnsupportedMediaType('The body must be JSON or URL-encoded'))
  }
  scope.addContentTypeParser('*', parser)
}
