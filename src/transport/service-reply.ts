import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPageService } from '../auth/oauth/page-services.ts'
import type { HookContext, MethodEntry } from '../core/index.ts'
import { NotAcceptable, NotFound, toExternalForm, toServiceError } from '../core/index.ts'
import { toNotFoundBody } from './errors/not-found.ts'
import type { Middleware } from './middleware.ts'
import { runMiddleware } from './middleware.ts'
import { acceptsJson } from './replies/accept.ts'
import { isEndless, isSentAsItIs, isSentAsJson, sendBody } from './replies/body.ts'
import { isPrivate, keepPrivate, removeHeaders, setHeaders, setPrivate } from './replies/headers.ts'
import { isAnswered, markAnswered } from './replies/reply-state.ts'
import type { BodySerializer } from './replies/result-serializer.ts'
import { pickResult, toResultSerializer } from './replies/result-serializer.ts'
import { getFeathersParams } from './request-params.ts'
import type { RestTransport } from './rest-transport.ts'
import { toAllow } from './service-method.ts'

/** A call that went well. */
interface FinishedCall {
  readonly method: MethodEntry
  readonly context: HookContext
  /** The functions after the service. */
  readonly after: readonly Middleware[]
}

/** What a request that is answered with an error was for, as far as that is known. */
interface FailedCall {
  readonly context?: HookContext | null
  /** The service that was called, and the id in the URL. */
  readonly match?: { readonly entry: MethodEntry['entry']; readonly id: string | null }
}

/**
 * Answers a call that went well: `context.dispatch`, else `context.result`. Functions after the
 * service may replace it in `reply.data`; a formatter of one's own sends it.
 */
export function answerCall(
  transport: RestTransport,
  { method, context, after }: FinishedCall,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown {
  if (isAnswered(reply)) return undefined
  const body = toBody(context.dispatch === undefined ? context.result : context.dispatch)
  // A hook may have set it to undefined.
  context.http ??= {}
  setCommonHeaders(transport, request, reply, context.service)
  setHeaders(reply, context.http)
  reply.hook = context
  reply.code(toStatus(context, body))
  if (after.length === 0 && transport.options.formatter == null) {
    checkRead(transport, method, body, request, reply)
    return send(transport, reply, body, toResultSerializer(method, body))
  }
  reply.data = isSentAsItIs(body) ? body : pickResult(method, body)
  return format(transport, { method, context, after }, request, reply)
}

/**
 * Answers whatever a service, a hook, a middleware or a formatter threw.
 * @see RFC 9110 §15.5.6: a 405 has to have `Allow`
 */
export function answerError(
  transport: RestTransport,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { context = null, match }: FailedCall = {},
): void {
  if (isAnswered(reply)) return
  const error = toServiceError(thrown)
  markAnswered(reply)
  // Set by answerCall(), which has failed after it set the headers.
  if (context !== null && reply.hook === context) removeHeaders(reply, context.http)
  reply.hook = context
  if (context === null) keepPrivate(transport.loginPaths, request, reply)
  setCommonHeaders(transport, request, reply, context?.service)
  if (error.code === 405 && match !== undefined && !reply.hasHeader('allow')) {
    reply.header('allow', toAllow(match.entry, match.id !== null, request.method))
  }
  transport.errors.send(error, thrown, request, reply)
}

/** Answers a request for a path that nothing is served at. */
export function answerNotFound(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const body = toNotFoundBody(request, transport.options.notFound ?? {})
  if (isAnswered(reply)) return
  keepPrivate(transport.loginPaths, request, reply)
  setCommonHeaders(transport, request, reply, undefined)
  if (transport.errors.sendIfPlain(body, request, reply)) markAnswered(reply)
  else answerError(transport, new NotFound(body.message, body.data), request, reply)
}

async function format(
  transport: RestTransport,
  { method, context, after }: FinishedCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const status = reply.statusCode
  const body = reply.data
  if (!(await runMiddleware(after, request, reply))) return
  if (reply.data !== body) reply.data = toBody(reply.data)
  // A new body may need another status, unless a function has set one.
  if (reply.statusCode === status) reply.code(toStatus(context, reply.data))
  const { formatter } = transport.options
  if (formatter == null) {
    checkRead(transport, method, reply.data, request, reply)
    return send(transport, reply, reply.data)
  }
  const value = await formatter(request, reply)
  const isAnother = value !== undefined && value !== reply && value !== reply.raw
  const isOpen = isEndless(reply, isAnother ? value : reply.data)
  if (isAnother && !isAnswered(reply)) reply.send(value)
  if (isOpen) transport.followEndless(reply)
}

function send(
  transport: RestTransport,
  reply: FastifyReply,
  body: unknown,
  serialize: BodySerializer | null = null,
): void {
  // Asked before hooks of the server run: compression takes the length away.
  const mayBeEndless = isEndless(reply, body)
  sendBody(reply, body, serialize)
  if (mayBeEndless) transport.followEndless(reply)
}

/**
 * Checks that a client takes the JSON of a call. The services that browsers are sent to answer any:
 * what they have done can not be done again.
 * @throws {NotAcceptable} the `Accept` header excludes JSON, and there is no formatter
 */
export function checkAccept(
  { options }: RestTransport,
  { entry }: MethodEntry,
  { headers }: FastifyRequest,
): void {
  if (acceptsJson(headers.accept) || options.formatter != null) return
  if (isPageService(entry.service)) return
  throw new NotAcceptable('The answer is JSON, which the Accept header excludes')
}

/** Checks the same of the answer to a read, where it is JSON and leads nowhere else. */
function checkRead(
  transport: RestTransport,
  method: MethodEntry,
  body: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (method.spec.verb !== 'GET' || acceptsJson(request.headers.accept)) return
  if (reply.statusCode < 300 && isSentAsJson(reply, body)) checkAccept(transport, method, request)
}

/** Returns what callers outside may see of a body; streams and the like are sent as they are. */
function toBody(body: unknown): unknown {
  return isSentAsItIs(body) ? body : toExternalForm(body)
}

/** Keeps an answer that depends on the caller out of caches; a closing server ends connections. */
export function setCommonHeaders(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
  service: object | undefined,
): void {
  if (transport.isClosing && request.raw.httpVersionMajor < 2) reply.header('connection', 'close')
  const caller = getFeathersParams(request)?.['authentication']
  if (isPrivate(transport.isLogin(service), caller, request)) setPrivate(reply)
}

/**
 * Returns the status of an answer: `context.http.status`, 303 with a location, 204 without a
 * body, 201 for `create`, else 200. Only `null` and `undefined` are no body: `0`, `false` and
 * `''` are sent.
 * @throws {TypeError} `context.http.status` is no integer from 200 to 599
 */
export function toStatus(context: HookContext, body: unknown): number {
  const { http } = context
  if (http.status) return checkStatus(http.status)
  if (http.location || http.headers?.['Location']) return 303
  if (body === undefined || body === null) return 204
  return context.method === 'create' ? 201 : 200
}

/** A status below 200 is refused: after it a client waits for the real answer. */
function checkStatus(status: number): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw new TypeError(`context.http.status must be an integer from 200 to 599, not ${status}`)
}
