import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticationRequest, MethodEntry } from '../core/index.ts'
import { BadRequest, HookContext, NotAcceptable, runMethod } from '../core/index.ts'
import { acceptsJson } from './accept.ts'
import { answerCall, answerError } from './answer.ts'
import { getMiddleware, isAnswered, runMiddleware } from './middleware.ts'
import { parseCaller, takeQueryToken } from './parse-authentication.ts'
import { toRawQuery } from './query-string.ts'
import { getFeathersParams, RestParams } from './request-params.ts'
import type { Watch } from './time-limit.ts'
import { endWatch } from './time-limit.ts'
import type { RestTransport, RunningCall } from './transport.ts'

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
  let running: RunningCall
  try {
    const params = createParams(transport, target, request, reply)
    const data = method.spec.arguments.includes('data') ? readData(request.body) : undefined
    const id = method.spec.withId ? target.id : undefined
    const context = new HookContext(method, method.entry.service, id, data, params)
    running = { transport, context, params, request, reply }
  } catch (error) {
    answerError(transport, error, request, reply)
    return
  }
  const { context } = running
  const watch = transport.timeLimit?.start(running)
  const end = (): void => watch && endWhenAnswered(watch, reply)
  const fail = (error: unknown): void => {
    answerError(transport, error, request, reply, context)
    end()
  }
  const answer = (): void => {
    try {
      const formatting = answerCall(transport, context, request, reply)
      if (formatting instanceof Promise) formatting.then(end, fail)
      else end()
    } catch (error) {
      fail(error)
    }
  }
  // From a microtask, where the stack is short: what a service throws costs half as much there.
  Promise.resolve()
    .then(() => runMethod(method, context))
    .then(answer, fail)
}

/** A formatter may send its answer later, or forget to. */
function endWhenAnswered(watch: Watch, reply: FastifyReply): void {
  if (isAnswered(reply)) endWatch(watch)
  else reply.raw.once('close', () => endWatch(watch))
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
