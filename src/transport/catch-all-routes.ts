import type {
  FastifyContentTypeParser,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify'
import { BadRequest, UnsupportedMediaType } from '../core/index.ts'
import { keepPrivate, setPrivate } from './replies/headers.ts'
import type { RestTransport } from './rest-transport.ts'
import { hasRoute, isPathTarget, isServerTarget, MALFORMED_TARGET } from './routing/request-path.ts'
import type { ServiceMatch } from './routing/service-router.ts'
import { handleServiceRequest } from './service-handler.ts'
import { findMethod, toAllow } from './service-method.ts'
import { answerError, answerNotFound } from './service-reply.ts'

const VERBS_WITHOUT_BODY: readonly string[] = ['GET', 'HEAD']

/**
 * Adds the routes for requests that match no route of a service. Call it after those were added.
 */
export function addCatchAll(transport: RestTransport, scope: FastifyInstance): void {
  addOtherParser(transport, scope)
  const handler = handleAnyRequest.bind(null, transport)
  for (const method of scope.supportedMethods) {
    const isTaken = (path: string): boolean => hasRoute(scope, method, path)
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

/** Verbs that address many records when the URL holds no id. */
const MULTI_VERBS: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE'])

/**
 * Handles a request that matches no route of its own: custom methods, services registered after the
 * start, a slash at the end, long ids, `OPTIONS`, methods that are not offered, unknown paths.
 */
export function handleAnyRequest(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { method, url } = request.raw
  if (!isPathTarget(url) && !isServerTarget(method, url)) {
    answerError(transport, new BadRequest(MALFORMED_TARGET), request, reply)
    return
  }
  const match = findMatch(transport, request)
  if (match === null) answerUnknownPath(transport, request, reply)
  else if (request.method === 'OPTIONS') sendAllow(transport, match, request, reply)
  else callMatch(transport, match, request, reply)
}

/** Returns what a request addresses, `null` when nothing is served there. */
function findMatch(transport: RestTransport, request: FastifyRequest): ServiceMatch | null {
  const { url } = request.raw
  return isPathTarget(url) ? transport.router.find(url) : null
}

/** Answers for a path that nothing is served at; a plugin without prefix leaves it to its host. */
function answerUnknownPath(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (transport.leavesNotFound) leaveNotFound(transport, request, reply)
  else answerNotFound(transport, request, reply)
}

/** Has the host answer. Below an authentication service its answer is kept out of caches too. */
function leaveNotFound(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (transport.loginPaths.includes(request.raw.url ?? '')) setPrivate(reply)
  reply.callNotFound()
}

/** Returns the name of a custom method that stands behind the path of its service, by opt-in. */
function readMethodPath(
  { options }: RestTransport,
  { id }: ServiceMatch,
  { method }: FastifyRequest,
): string | undefined {
  return options.methodPaths === true && method === 'POST' ? (id ?? undefined) : undefined
}

function sendAllow(
  transport: RestTransport,
  match: ServiceMatch,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  keepPrivate(transport.loginPaths, request, reply)
  reply
    .code(204)
    .header('allow', toAllow(match.entry, match.id !== null))
    .header('x-content-type-options', 'nosniff')
    .send()
}

function callMatch(
  transport: RestTransport,
  match: ServiceMatch,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const hasId = match.id !== null
  try {
    const serviceMethod =
      request.headers['x-service-method'] || readMethodPath(transport, match, request)
    const method = findMethod(match.entry, request.method, hasId, serviceMethod)
    if (match.lacksId && MULTI_VERBS.has(request.method)) {
      // A client built '/users/' + id with an empty id: it means one record, not all of them.
      throw new BadRequest('An id is missing at the end of the path')
    }
    handleServiceRequest(transport, method, match, request, reply)
  } catch (error) {
    answerError(transport, error, request, reply, { match })
  }
}
