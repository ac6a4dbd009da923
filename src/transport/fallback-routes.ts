import type { FastifyContentTypeParser, FastifyInstance, onRequestHookHandler } from 'fastify'
import { UnsupportedMediaType } from '../core/index.ts'
import { findMatch, handleAnyRequest, leaveNotFound } from './fallback-handler.ts'
import type { RestTransport } from './rest-transport.ts'

const VERBS_WITHOUT_BODY: readonly string[] = ['GET', 'HEAD']

/** Adds routes for whatever no route of a service fits; to be called after those are there. */
export function addCatchAll(transport: RestTransport, scope: FastifyInstance): void {
  addOtherParser(transport, scope)
  const handler = handleAnyRequest.bind(null, transport)
  const base = scope.prefix.replace(/\/$/, '')
  for (const method of scope.supportedMethods) {
    const isTaken = (url: string): boolean => scope.hasRoute({ method, url: `${base}${url}` })
    // By the root service, or by the host, whose '/*' answers at '/' too.
    const isAllTaken = isTaken('/*')
    const mayLeave = transport.leavesNotFound && !VERBS_WITHOUT_BODY.includes(method)
    const onRequest = mayLeave ? [createLeave(transport)] : []
    for (const url of ['/', '/*']) {
      if (isAllTaken || isTaken(url)) continue
      scope.route({ method, url, exposeHeadRoute: false, onRequest, handler })
    }
  }
}

/** A path of the host has the 404 of the host, whatever we would say about the body. */
function createLeave(transport: RestTransport): onRequestHookHandler {
  return (request, reply, done) => {
    if (findMatch(transport, request) === null) leaveNotFound(transport, request, reply)
    else done()
  }
}

/**
 * Refuses bodies of all types that have no parser, but where nothing is served: there it is the path
 * that is wrong. What has a parser is read even then, as functions of `app.use()` may answer for any
 * path.
 */
function addOtherParser(transport: RestTransport, scope: FastifyInstance): void {
  const parser: FastifyContentTypeParser = (request, _payload, done) => {
    if (findMatch(transport, request) === null) done(null)
    else done(new UnsupportedMediaType('The body must be JSON or URL-encoded'))
  }
  scope.addContentTypeParser('*', parser)
}
