import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceNotFound } from '../core/errors/coded-errors.ts'
import type { HookContext, MethodEntry, ServiceError } from '../core/index.ts'
import { toExternalForm, toServiceError } from '../core/index.ts'
import { finishCall } from '../core/services/run-method.ts'
import { isSocketUrl, SOCKETS_HINT, toNotFoundBody } from './errors/not-found.ts'
import { discardBody, isEndless, isSentAsItIs, sendBody } from './replies/body.ts'
import { keepPrivate, removeHeaders, setHeaders, setPrivate } from './replies/headers.ts'
import { isAnswered, markAnswered } from './replies/reply-state.ts'
import { getFeathersParams } from './request-params.ts'
import type { ContextCall, RestPlan } from './rest-plan.ts'
import type { RestTransport } from './rest-transport.ts'
import { toAllow } from './routing/service-method.ts'

/** What is known about a request that failed. */
interface FailedCall {
  readonly context?: HookContext | null
  /** The service that was called, and the id in the URL. */
  readonly match?: { readonly entry: MethodEntry['entry']; readonly id: string | null }
  /** Sets more headers. */
  readonly setHeaders?: (error: ServiceError) => void
}

/**
 * Responds to whatever a service, a hook, a middleware or a formatter threw.
 * @see RFC 9110 §15.5.6: a 405 must have `Allow`
 */
export function answerError(
  transport: RestTransport,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { context = null, match, setHeaders }: FailedCall = {},
): void {
  if (isAnswered(reply)) return
  const error = toServiceError(thrown)
  markAnswered(reply)
  // The response to a successful call has failed after its headers were set.
  if (context !== null && reply.hook === context) removeHeaders(reply, context.http)
  reply.hook = context
  if (context === null) keepPrivate(transport.loginPaths, request, reply)
  setCommonHeaders(transport, request, reply, transport.isLogin(context?.service))
  if (error.code === 405 && match !== undefined && !reply.hasHeader('allow')) {
    const { queryVerbs } = transport
    reply.header('allow', toAllow(match.entry, match.id !== null, queryVerbs, request.method))
  }
  setHeaders?.(error)
  transport.errors.send(error, thrown, request, reply)
}

/**
 * Ends a successful call, and responds with `context.dispatch`, otherwise `context.result`.
 * @param returned the result of its start; without one, the result of the context
 */
export function answerResult(plan: RestPlan, call: ContextCall, returned: unknown): void {
  const { context, reply, method } = call
  try {
    finishCall(method, context, returned)
    if (isAnswered(reply)) {
      endAnswered(call)
      return
    }
    call.body = toBody(context.dispatch === undefined ? context.result : context.dispatch)
    // A hook may have set it to undefined.
    context.http ??= {}
    setCommonHeaders(plan.transport, call.request, reply, plan.isLogin)
    if (context.http.headers || context.http.location) setHeaders(reply, context.http)
    reply.hook = context
    reply.code(toStatus(context, call.body))
    for (const set of plan.headers) set(call)
    if (plan.transform.length === 0) sendResult(plan, call)
    else transformBody(plan, call).catch((error: unknown) => call.fail(error))
  } catch (error) {
    call.fail(error)
  }
}

async function transformBody(plan: RestPlan, call: ContextCall): Promise<void> {
  for (const transform of plan.transform) {
    if (!(await transform(call))) {
      endAnswered(call)
      return
    }
  }
  sendResult(plan, call)
}

/** Ends a call whose response has already been sent. */
function endAnswered(call: ContextCall): void {
  // Aborted: too late, or the client has gone. Otherwise a function has responded and may be sending this stream.
  if (call.facts?.isAborted) discardResult(call.context)
  call.end()
}

/** Closes the streams in a result that will not be sent. */
export function discardResult({ result, dispatch }: HookContext): void {
  discardBody(dispatch)
  discardBody(result)
}

function sendResult(plan: RestPlan, call: ContextCall): void {
  const { reply, body } = call
  for (const prepare of plan.beforeSend) {
    if (prepare(call)) continue
    call.end()
    return
  }
  // Checked before hooks of the server run: compression removes the length.
  const mayBeEndless = isSentAsItIs(body) && isEndless(reply, body)
  sendBody(reply, body, call.serialize)
  if (mayBeEndless) plan.transport.followEndless(reply)
  call.end()
}

/** The key under which a transport records that it has logged the {@link SOCKETS_HINT}. */
const HAS_WARNED: unique symbol = Symbol('remex.hasWarnedOfSockets')

/** Responds to a request for an unknown path. */
export function answerNotFound(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const body = toNotFoundBody(request, transport.options.notFound ?? {})
  if (isAnswered(reply)) return
  const { attachments, logger } = transport
  if (isSocketUrl(request.originalUrl) && !attachments.has(HAS_WARNED)) {
    attachments.set(HAS_WARNED, true)
    logger.warn(body.data, SOCKETS_HINT)
  }
  keepPrivate(transport.loginPaths, request, reply)
  setCommonHeaders(transport, request, reply, false)
  const { errorCode } = ServiceNotFound.prototype
  if (transport.errors.sendIfPlain(body, errorCode, request, reply)) markAnswered(reply)
  else answerError(transport, new ServiceNotFound(body.message, body.data), request, reply)
}

/** Returns the external form of a body; streams and the like are returned unchanged. */
export function toBody(body: unknown): unknown {
  return isSentAsItIs(body) ? body : toExternalForm(body)
}

/** Keeps a response that depends on the caller out of caches. If the server is closing, ends the connection. */
export function setCommonHeaders(
  transport: RestTransport,
  request: FastifyRequest,
  reply: FastifyReply,
  isLogin: boolean,
): void {
  if (transport.isClosing && request.raw.httpVersionMajor < 2) reply.header('connection', 'close')
  // The header counts too, since an error may occur before credentials are read.
  const hasCaller =
    request.headers.authorization !== undefined ||
    getFeathersParams(request)?.['authentication'] !== undefined
  if (hasCaller || isLogin) setPrivate(reply)
}

/**
 * Returns the status of a response: `context.http.status`, 303 with a location, 204 without a body, 201 for `create`,
 * otherwise 200. Only `null` and `undefined` mean no body: `0`, `false` and `''` are sent.
 * @throws {TypeError} `context.http.status` is not an integer from 200 to 599
 */
export function toStatus(context: HookContext, body: unknown): number {
  const { http } = context
  if (http.status) {
    const { status } = http
    // After a status below 200 a client waits for the actual response.
    if (Number.isInteger(status) && status >= 200 && status <= 599) return status
    throw new TypeError(`context.http.status must be an integer from 200 to 599, not ${status}`)
  }
  if (http.location || http.headers?.['Location']) return 303
  if (body === undefined || body === null) return 204
  return context.method === 'create' ? 201 : 200
}
