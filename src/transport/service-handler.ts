import type { FastifyReply, FastifyRequest } from 'fastify'
import { watchRests } from '../core/hooks/run-hooks.ts'
import type { AuthenticationRequest, MethodEntry } from '../core/index.ts'
import { BadRequest, HookContext, Unavailable } from '../core/index.ts'
import { finishCall, startCall } from '../core/services/run-method.ts'
import { TimedCall } from './call-time-limit.ts'
import type { Middleware, ServiceMiddleware } from './middleware.ts'
import { getMiddleware, runMiddleware } from './middleware.ts'
import { parseCaller, takeQueryToken } from './parse-authentication.ts'
import { isAnswered } from './replies/reply-state.ts'
import { getFeathersParams, RequestFacts, RestParams } from './request-params.ts'
import type { RestTransport } from './rest-transport.ts'
import { answerCall, answerError, checkAccept, setCommonHeaders } from './service-reply.ts'

/** What a request addresses, beside the method: the id and the route values. */
export interface Target {
  readonly id: string | null
  readonly route: Record<string, string>
}

type Caller = AuthenticationRequest | null

const RESOLVED = Promise.resolve()
const NONE: readonly Middleware[] = []

/** Calls a service method for a request and answers with its result, or with what it throws. */
export function handleServiceRequest(
  transport: RestTransport,
  method: MethodEntry,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  new RestCall(transport, method, target, request, reply).start()
}

/** A request for a service method, until it is answered. */
class RestCall extends TimedCall {
  readonly #transport: RestTransport
  readonly #method: MethodEntry
  readonly #target: Target
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #middleware: ServiceMiddleware | null
  /** `null` until the functions before the service have run. */
  #context: HookContext | null = null
  #facts: RequestFacts | null = null

  constructor(
    transport: RestTransport,
    method: MethodEntry,
    target: Target,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    super()
    this.#transport = transport
    this.#method = method
    this.#target = target
    this.#request = request
    this.#reply = reply
    this.#middleware = getMiddleware(method.entry)
  }

  start(): void {
    const { app, authentication, hasLogins, timeLimit } = this.#transport
    timeLimit?.start(this)
    try {
      const caller = hasLogins ? parseCaller(app, authentication, this.#request, this.#reply) : null
      if (this.#middleware === null && !(caller instanceof Promise)) this.#call(caller)
      else this.#callLater(caller, this.#middleware?.before ?? NONE)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Answers with 503 and aborts `params.signal`, so that the call can stop its work. */
  override timeOut(limitMs: number): void {
    // A call that has begun goes on: what it was to write may be written.
    const isUnknown = this.#context !== null && this.#method.spec.verb !== 'GET'
    const data = isUnknown ? { errors: { outcome: 'unknown' } } : null
    const error = new Unavailable(`No answer within ${limitMs} ms`, data)
    this.#facts?.abort(error)
    this.#answerError(error)
  }

  /** For strategies that return a promise, and for functions before the service. */
  async #callLater(
    parsing: Caller | Promise<Caller>,
    before: readonly Middleware[],
  ): Promise<void> {
    try {
      const caller = await parsing
      setCaller(this.#request, caller)
      // They may answer by themselves.
      setCommonHeaders(this.#transport, this.#request, this.#reply, this.#method.entry.service)
      const goesOn = await runMiddleware(before, this.#request, this.#reply)
      // The call may have timed out meanwhile.
      if (goesOn && !isAnswered(this.#reply)) this.#call(null)
      else this.#end()
    } catch (error) {
      this.#fail(error)
    }
  }

  #call(caller: Caller): void {
    setCaller(this.#request, caller)
    const method = this.#method
    const params = this.#createParams()
    const data = method.spec.arguments.includes('data') ? readData(this.#request.body) : undefined
    const id = method.spec.withId ? this.#target.id : undefined
    const context = new HookContext(method, method.entry.service, id, data, params)
    this.#context = context
    // Called from a microtask, where the stack is short: that halves the cost of an error.
    RESOLVED.then(() => this.#run(context))
  }

  #run(context: HookContext): void {
    try {
      const pending = startCall(this.#method, context)
      if (pending === undefined) this.#answer(context, context.result)
      else {
        Promise.resolve(pending).then(
          (returned) => this.#answer(context, returned),
          (error: unknown) => this.#fail(error),
        )
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  #createParams(): RestParams {
    const transport = this.#transport
    const request = this.#request
    const reply = this.#reply
    // What a read answers is looked at when it is there; a write whose answer can't be sent is none.
    if (this.#method.spec.verb !== 'GET') checkAccept(transport, this.#method, request)
    const query = transport.readQuery(request)
    setCaller(request, takeQueryToken(query, transport.acceptsQueryToken, reply))
    this.#facts = new RequestFacts(request, reply)
    return new RestParams(this.#facts, query, this.#target.route, getFeathersParams(request))
  }

  #answer(context: HookContext, returned: unknown): void {
    try {
      finishCall(this.#method, context, returned)
      const call = { method: this.#method, context, after: this.#middleware?.after ?? NONE }
      const formatting = answerCall(this.#transport, call, this.#request, this.#reply)
      if (!(formatting instanceof Promise)) this.#end()
      else {
        formatting.then(
          () => this.#end(),
          (error: unknown) => this.#fail(error),
        )
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#context !== null) watchRests(this.#context)
    this.#answerError(error)
    this.#end()
  }

  #answerError(error: unknown): void {
    const match = { entry: this.#method.entry, id: this.#target.id }
    const call = { context: this.#context, match }
    answerError(this.#transport, error, this.#request, this.#reply, call)
  }

  /** Ends the time limit with the answer; a function or a formatter may send it later, or never. */
  #end(): void {
    if (this.#transport.timeLimit === null) return
    if (isAnswered(this.#reply)) this.endWatch()
    else this.#reply.raw.once('close', () => this.endWatch())
  }
}

/** Sets who calls, unless a hook of Fastify has set it already. */
function setCaller(request: FastifyRequest, caller: Caller): void {
  if (caller !== null) request.feathers['authentication'] ??= caller
}

/** Returns the data of a call: `{}` without a body, since clients send none for `undefined`. */
function readData(body: unknown): object {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null) {
    throw new BadRequest('The body must be an object or an array')
  }
  return body
}
