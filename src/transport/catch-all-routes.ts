import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { InvalidId, InvalidRequest } from '../core/errors/coded-errors.ts'
import { asksByBody } from './parsing/query-verbs.ts'
import { createUnsupportedType } from './parsing/request-body.ts'
import { keepPrivate, setPrivate } from './replies/headers.ts'
import type { RestPlans } from './rest-plan.ts'
import type { RestTransport } from './rest-transport.ts'
import { hasRoute, isPathTarget, isServerTarget, MALFORMED_TARGET } from './routing/request-path.ts'
import { findMethod, toAllow } from './routing/service-method.ts'
import type { ServiceMatch } from './routing/service-router.ts'
import { RestCall } from './service-handler.ts'
import { answerError, answerNotFound } from './service-reply.ts'

/** Adds the routes for requests that match no route of a service, after those were added. */
export function addCatchAll(plans: RestPlans, scope: FastifyInstance): void {
  const { transport } = plans
  // Rejects bodies of other media types, except where nothing is served: there the response is about the path. JSON and
  // forms are read everywhere: functions of `app.use()` may respond at any path.
  scope.addContentTypeParser('*', (request, _payload, done) => {
    if (findMatch(transport, request) === null) done(null)
    else done(createUnsupportedType())
  })
  // A path of the host gets the host's 404, even if its body would be rejected here.
  const leave: onRequestHookHandler = (request, reply, done) => {
    if (findMatch(transport, request) === null) leaveNotFound(transport, request, reply)
    else done()
  }
  const handler = handleAnyRequest.bind(null, plans)
  for (const method of scope.supportedMethods) {
    const isTaken = (path: string): boolean => hasRoute(scope, method, path)
    // Taken by the root service, or by the host, whose '/*' matches '/' too.
    if (isTaken('/*')) continue
    const mayHaveBody = method !== 'GET' && method !== 'HEAD'
    const onRequest = transport.options.leavesNotFound && mayHaveBody ? [leave] : []
    for (const url of ['/', '/*']) {
      if (!isTaken(url)) scope.route({ method, url, exposeHeadRoute: false, onRequest, handler })
    }
  }
}

/** Verbs that apply to many records if the URL has no id. */
const MULTI_VERBS: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE'])

/** Handles a request whose route does not name the method to call. */
export function handleAnyRequest(
  plans: RestPlans,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  openAnyCall(plans, request, reply)?.start()
}

/**
 * Returns the call of a request whose route does not name the method, or whose path has no route: custom methods,
 * services registered after the start, a trailing slash, long ids. For `OPTIONS`, methods that are not offered and
 * unknown paths it responds itself and returns `null`.
 */
export function openAnyCall(
  plans: RestPlans,
  request: FastifyRequest,
  reply: FastifyReply,
): RestCall | null {
  const { transport } = plans
  const { method, url } = request.raw
  if (!isPathTarget(url) && !isServerTarget(method, url)) {
    answerError(transport, new InvalidRequest(MALFORMED_TARGET), request, reply)
    return null
  }
  const match = findMatch(transport, request)
  if (match !== null && request.method !== 'OPTIONS') return openMatch(plans, match, request, reply)
  if (match !== null) sendAllow(transport, match, request, reply)
  else if (transport.options.leavesNotFound) leaveNotFound(transport, request, reply)
  else answerNotFound(transport, request, reply)
  return null
}

/** Returns the service or record at the URL of a request, `null` if nothing is served there. */
function findMatch(transport: RestTransport, request: FastifyRequest): ServiceMatch | null {
  const { url } = request.raw
  return isPathTarget(url) ? transport.router.find(url) : null
}

/** Lets the host respond. Below an authentication service its response is kept out of caches too. */
function leaveNotFound(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (transport.loginPaths.includes(request.raw.url ?? '')) setPrivate(reply)
  reply.callNotFound()
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
    .header('allow', toAllow(match.entry, match.id !== null, transport.queryVerbs))
    .header('x-content-type-options', 'nosniff')
    .send()
}

function openMatch(
  plans: RestPlans,
  match: ServiceMatch,
  request: FastifyRequest,
  reply: FastifyReply,
): RestCall | null {
  const { transport } = plans
  const { entry, id } = match
  try {
    // If `methodPaths` is on, the name of a custom method may follow the path of its service.
    const named = transport.options.methodPaths === true ? (id ?? undefined) : undefined
    const serviceMethod = request.headers['x-service-method'] || named
    const isQuery = transport.options.queryBodies === true && id === null && asksByBody(request)
    const method = isQuery
      ? findMethod(entry, 'GET', false, undefined)
      : findMethod(entry, request.method, id !== null, serviceMethod)
    if (match.lacksId && MULTI_VERBS.has(request.method)) {
      // A client built '/users/' + id with an empty id: it means one record, not all of them.
      throw new InvalidId('An id is missing at the end of the path')
    }
    return new RestCall(plans.get(method), match, request, reply)
  } catch (error) {
    answerError(transport, error, request, reply, { match })
    return null
  }
}
