import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPageService } from '../auth/oauth/page-services.ts'
import { watchRests } from '../core/hooks/around-hooks.ts'
import type { AuthenticationRequest, MethodEntry } from '../core/index.ts'
import { BadRequest, HookContext, NotAcceptable, Unavailable } from '../core/index.ts'
import { finishCall, startCall } from '../core/services/run-method.ts'
import { TimedCall } from './call-time-limit.ts'
import type { Middleware, ServiceMiddleware } from './middleware.ts'
import { getMiddleware, runMiddleware } from './middleware.ts'
import { toQueryShape } from './observing/query-shape.ts'
import { parseCaller, takeQueryToken } from './parse-authentication.ts'
import { hasQueryBody, readQueryBody } from './parsing/query-body.ts'
import { acceptsJson } from './replies/accept.ts'
import { isEndless, isSentAsItIs, isSentAsJson, sendBody } from './replies/body.ts'
import { setHeaders, setLocation } from './replies/headers.ts'
import { isAnswered } from './replies/reply-state.ts'
import type { BodySerializer } from './replies/result-serializer.ts'
import { pickResult, toResultSerializer } from './replies/result-serializer.ts'
import {
  isNotModified,
  readIfMatch,
  setRevalidated,
  setTag,
  writeTagged,
} from './replies/validators.ts'
import { getFeathersParams, RequestFacts, RestParams } from './request-params.ts'
import type { RestTransport } from './rest-transport.ts'
import type { ServiceMatch } from './routing/service-router.ts'
import { runInTurn } from './server/pipelined-requests.ts'
import { answerError, setCommonHeaders, toBody, toStatus } from './service-reply.ts'
import { findStream } from './streams/stream-types.ts'

/** What a request addresses, beside the method: the id and the route values. */
export type Target = Pick<ServiceMatch, 'id' | 'route'>

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
  const call = new RestCall(transport, method, target, request, reply)
  // On our own server, the request guard has done this before the body was read.
  if (reply.raw.socket !== null || transport.options.ownsServer) call.start()
  else runInTurn(request.raw, reply.raw, () => call.start())
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
  /** When the call has begun, in ms of the process; `null` where nobody asks for slow calls. */
  #startedAt: number | null

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
    this.#startedAt = transport.options.slowMs === undefined ? null : performance.now()
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
    const isUnknown = this.#context !== null && !this.#isRead
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
      // Functions before the service may answer by themselves.
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
    const open = findStream(this.#transport, method, this.#request, this.#reply)
    if (open !== null) {
      const [transport, request, reply] = [this.#transport, this.#request, this.#reply]
      open({ transport, method, context, request, reply }).then(
        () => this.#end(),
        (error: unknown) => this.#fail(error),
      )
      return
    }
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
    if (!this.#isRead) this.#checkAccept()
    const inURL = transport.readQuery(request)
    setCaller(request, takeQueryToken(inURL, transport.acceptsQueryToken, reply))
    const query = hasQueryBody(this.#method, request) ? readQueryBody(request, inURL) : inURL
    this.#facts = new RequestFacts(request, reply)
    const feathers = getFeathersParams(request)
    const params = new RestParams(this.#facts, query, this.#target.route, feathers)
    const version = this.#isRead ? undefined : readIfMatch(this.#method, request)
    if (version !== undefined) params.version = version
    return params
  }

  /**
   * Answers a call that went well: `context.dispatch`, else `context.result`. Functions after the
   * service may replace it in `reply.data`; a formatter of one's own sends it.
   */
  #answer(context: HookContext, returned: unknown): void {
    const reply = this.#reply
    try {
      finishCall(this.#method, context, returned)
      if (isAnswered(reply)) {
        this.#end()
        return
      }
      const body = toBody(context.dispatch === undefined ? context.result : context.dispatch)
      // A hook may have set it to undefined.
      context.http ??= {}
      setCommonHeaders(this.#transport, this.#request, reply, context.service)
      setHeaders(reply, context.http)
      reply.hook = context
      reply.code(toStatus(context, body))
      setTag(this.#method, context, reply)
      if (this.#method.name === 'create' && this.#target.id === null) {
        setLocation(this.#method, body, this.#request, reply)
      }
      const after = this.#middleware?.after ?? NONE
      if (after.length === 0 && this.#transport.options.formatter == null) {
        this.#send(context, body, toResultSerializer(this.#method, body))
        this.#end()
      } else this.#format(context, body, after)
    } catch (error) {
      this.#fail(error)
    }
  }

  async #format(context: HookContext, body: unknown, after: readonly Middleware[]): Promise<void> {
    const reply = this.#reply
    try {
      const data = isSentAsItIs(body) ? body : pickResult(this.#method, body)
      reply.data = data
      const status = reply.statusCode
      if (!(await runMiddleware(after, this.#request, reply))) return this.#end()
      if (reply.data !== data) reply.data = toBody(reply.data)
      // A new body may need another status, unless a function has set one.
      if (reply.statusCode === status) reply.code(toStatus(context, reply.data))
      const { formatter } = this.#transport.options
      if (formatter == null) this.#send(context, reply.data, null)
      else if (this.#isKnown) reply.code(304).send()
      else {
        const value = await formatter(this.#request, reply)
        const isAnother = value !== undefined && value !== reply && value !== reply.raw
        const isOpen = isEndless(reply, isAnother ? value : reply.data)
        if (isAnother && !isAnswered(reply)) reply.send(value)
        if (isOpen) this.#transport.followEndless(reply)
      }
      this.#end()
    } catch (error) {
      this.#fail(error)
    }
  }

  #send(context: HookContext, body: unknown, serialize: BodySerializer | null): void {
    const reply = this.#reply
    // Of a read, what is no JSON or leads elsewhere is given whatever the client accepts.
    const isRefused = this.#isRead && !acceptsJson(this.#request.headers.accept)
    if (isRefused && reply.statusCode < 300 && isSentAsJson(reply, body)) this.#checkAccept()
    const write = this.#tagBody(context, body, serialize)
    if (this.#isKnown) {
      reply.code(304).send()
      return
    }
    // Asked before hooks of the server run: compression takes the length away.
    const mayBeEndless = isEndless(reply, body)
    sendBody(reply, body, write)
    if (mayBeEndless) this.#transport.followEndless(reply)
  }

  /** Gives the answer to a read the tag of its body, where the service has chosen to. */
  #tagBody(
    context: HookContext,
    body: unknown,
    serialize: BodySerializer | null,
  ): BodySerializer | null {
    const isTagged = this.#isRead && this.#method.entry.options.etag === true
    if (!isTagged || this.#reply.statusCode !== 200) return serialize
    const write = writeTagged(this.#reply, context, body, serialize)
    if (this.#reply.hasHeader('etag')) setRevalidated(this.#reply, context)
    return write
  }

  /** Whether the caller of a read has the answer already. */
  get #isKnown(): boolean {
    // Of a POST there is no 304.
    const isCached = this.#isRead && this.#request.method !== 'POST'
    return isCached && isNotModified(this.#request, this.#reply)
  }

  get #isRead(): boolean {
    return this.#method.spec.verb === 'GET'
  }

  /**
   * Checks that the client takes JSON. The services that browsers are sent to answer any: what they
   * have done can not be done again.
   * @throws {NotAcceptable} the `Accept` header excludes JSON, and there is no formatter
   */
  #checkAccept(): void {
    const takesAny = this.#transport.options.formatter != null
    if (takesAny || acceptsJson(this.#request.headers.accept)) return
    if (isPageService(this.#method.entry.service)) return
    throw new NotAcceptable('The answer is JSON, which the Accept header excludes')
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

  /** Logs a call that has taken long, with the names in its query and none of its values. */
  #logIfSlow(startedAt: number): void {
    this.#startedAt = null
    const durationMs = Math.round(performance.now() - startedAt)
    const { slowMs = Number.POSITIVE_INFINITY } = this.#transport.options
    if (durationMs < slowMs) return
    const { name, entry } = this.#method
    const query = toQueryShape(this.#context?.params.query)
    const call = { service: entry.path, method: name, requestId: this.#request.id }
    const databaseCalls = this.#facts?.databaseCalls ?? 0
    this.#transport.logger.warn({ ...call, durationMs, databaseCalls, query }, 'Slow call')
  }

  /** Ends the time limit with the answer; a function or a formatter may send it later, or never. */
  #end(): void {
    if (this.#startedAt !== null) this.#logIfSlow(this.#startedAt)
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
