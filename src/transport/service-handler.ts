import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MethodEntry } from '../core/index.ts'
import { BadRequest, HookContext, NotAcceptable, runMethod, Unavailable } from '../core/index.ts'
import { acceptsJson } from './accept.ts'
import { answerCall, answerError } from './answer.ts'
import { getMiddleware, runMiddleware } from './middleware.ts'
import { toRawQuery } from './query-string.ts'
import { getFeathersParams, RestParams } from './request-params.ts'
import type { RestTransport } from './transport.ts'

/** What a request addresses, beside the method: the id and the route values. */
export interface Target {
  readonly id: string | null
  readonly route: Record<string, string>
}

/** Calls a service method for a request and answers with its result, or with what it throws. */
export function handleServiceRequest(
  transport: RestTransport,
  method: MethodEntry,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (getMiddleware(method.entry.service) === null) call(transport, method, target, request, reply)
  else callWithMiddleware(transport, method, target, request, reply)
}

function callWithMiddleware(
  transport: RestTransport,
  method: MethodEntry,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const before = getMiddleware(method.entry.service)?.before ?? []
  runMiddleware(before, request, reply)
    .then((goesOn) => {
      if (goesOn) call(transport, method, target, request, reply)
    })
    .catch((error: unknown) => answerError(transport, error, request, reply))
}

function call(
  transport: RestTransport,
  method: MethodEntry,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  let context: HookContext
  let params: RestParams
  try {
    params = createParams(transport, target, request)
    const data = method.spec.arguments.includes('data') ? readData(request.body) : undefined
    context = new HookContext(method, method.entry.service, target.id, data, params)
  } catch (error) {
    answerError(transport, error, request, reply)
    return
  }
  const timer = startTimer(transport, params, request, reply)
  runMethod(method, context)
    .then(() => answerCall(transport, context, request, reply))
    .catch((error: unknown) => answerError(transport, error, request, reply, context))
    .finally(() => clearTimeout(timer))
}

function createParams(
  transport: RestTransport,
  target: Target,
  request: FastifyRequest,
): RestParams {
  if (transport.isClosing) throw new Unavailable('The server is closing')
  // Before the call: what can't be answered had better not be written either.
  if (transport.options.formatter == null && !acceptsJson(request.headers.accept)) {
    throw new NotAcceptable('The answer is JSON, which the Accept header excludes')
  }
  const query = transport.parseQuery(toRawQuery(request.raw.url ?? ''))
  return new RestParams(request, query, target.route, getFeathersParams(request))
}

/** A body that is missing is `{}`, as clients send nothing for `undefined`. */
function readData(body: unknown): object {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null) {
    throw new BadRequest('The body must be an object or an array')
  }
  return body
}

/** A call that takes too long is answered with 503; what it still does is told by the signal to stop. */
function startTimer(
  transport: RestTransport,
  params: RestParams,
  request: FastifyRequest,
  reply: FastifyReply,
): NodeJS.Timeout | undefined {
  const { handlerTimeoutMs = 0 } = transport.options
  if (handlerTimeoutMs === 0) return undefined
  return setTimeout(() => {
    const error = new Unavailable(`No answer within ${handlerTimeoutMs} ms`)
    RestParams.abort(params, error)
    answerError(transport, error, request, reply)
  }, handlerTimeoutMs)
}
