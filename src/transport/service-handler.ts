import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticationRequest, MethodEntry } from '../core/index.ts'
import { BadRequest, HookContext, NotAcceptable, runMethod, Unavailable } from '../core/index.ts'
import { acceptsJson } from './accept.ts'
import { answerCall, answerError } from './answer.ts'
import { getMiddleware, isAnswered, runMiddleware } from './middleware.ts'
import { parseCaller, takeQueryToken } from './parse-authentication.ts'
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
  try {
    const caller = parseCaller(transport.app, transport.authentication, request, reply)
    const hasToWait = caller instanceof Promise || getMiddleware(method.entry.service) !== null
    if (hasToWait) callLater(transport, method, target, request, reply, caller)
    else {
      setCaller(request, caller)
      call(transport, method, target, request, reply)
    }
  } catch (error) {
    answerError(transport, error, request, reply)
  }
}

/** Where a strategy waits for something, or functions run before the service. */
function callLater(
  transport: RestTransport,
  method: MethodEntry,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  parsing: AuthenticationRequest | null | Promise<AuthenticationRequest | null>,
): void {
  const before = getMiddleware(method.entry.service)?.before ?? []
  Promise.resolve(parsing)
    .then((caller) => {
      setCaller(request, caller)
      return runMiddleware(before, request, reply)
    })
    .then((goesOn) => {
      if (goesOn) call(transport, method, target, request, reply)
    })
    .catch((error: unknown) => answerError(transport, error, request, reply))
}

/** A caller that a hook of Fastify has found out already stays. */
function setCaller(request: FastifyRequest, caller: AuthenticationRequest | null): void {
  if (caller !== null) request.feathers['authentication'] ??= caller
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
    params = createParams(transport, target, request, reply)
    const data = method.spec.arguments.includes('data') ? readData(request.body) : undefined
    const id = method.spec.withId ? target.id : undefined
    context = new HookContext(method, method.entry.service, id, data, params)
  } catch (error) {
    answerError(transport, error, request, reply)
    return
  }
  const timer = startTimer(transport, params, request, reply, context)
  runMethod(method, context)
    .then(() => answerCall(transport, context, request, reply))
    .catch((error: unknown) => answerError(transport, error, request, reply, context))
    .finally(() => endTimer(timer, reply))
}

function createParams(
  transport: RestTransport,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
): RestParams {
  // Before the call: what can't be answered had better not be written either.
  if (transport.options.formatter == null && !acceptsJson(request.headers.accept)) {
    throw new NotAcceptable('The answer is JSON, which the Accept header excludes')
  }
  const query = transport.parseQuery(toRawQuery(request.raw.url ?? ''))
  if (transport.acceptsQueryToken) setCaller(request, takeQueryToken(query, reply))
  return new RestParams(request, reply, query, target.route, getFeathersParams(request))
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
  context: HookContext,
): NodeJS.Timeout | undefined {
  const { handlerTimeoutMs = 0 } = transport.options
  if (handlerTimeoutMs === 0) return undefined
  const timer = setTimeout(() => {
    const error = new Unavailable(`No answer within ${handlerTimeoutMs} ms`)
    RestParams.abort(params, error)
    answerError(transport, error, request, reply, context)
  }, handlerTimeoutMs)
  // A call that never ends must not keep a process that has closed its server.
  return timer.unref()
}

/** A formatter may send its answer later, or forget to. */
function endTimer(timer: NodeJS.Timeout | undefined, reply: FastifyReply): void {
  if (timer === undefined) return
  if (isAnswered(reply)) clearTimeout(timer)
  else reply.raw.once('close', () => clearTimeout(timer))
}
