import type { FastifyReply, FastifyRequest } from 'fastify'
import { watchRests } from '../core/hooks/around-hooks.ts'
import type { MethodEntry, ServiceError } from '../core/index.ts'
import { BadRequest, HookContext } from '../core/index.ts'
import { finishCall, startCall } from '../core/services/run-method.ts'
import type { BodySerializer } from './replies/body.ts'
import { isEndless, isSentAsItIs, sendBody } from './replies/body.ts'
import { setHeaders } from './replies/headers.ts'
import { isAnswered, watchSend } from './replies/reply-state.ts'
import { getFeathersParams, RequestFacts, RestParams } from './request-params.ts'
import type { CallWatch, ContextCall, RestPlan, ServedCall, Target } from './rest-plan.ts'
import { runInTurn } from './server/pipelined-requests.ts'
import { answerError, setCommonHeaders, toBody, toStatus } from './service-reply.ts'

const RESOLVED = Promise.resolve()

/** Calls a service method for a request and answers with its result, or with what it throws. */
export function handleServiceRequest(
  plan: RestPlan,
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const call = new RestCall(plan, target, request, reply)
  // On our own server, the request guard has done this before the body was read.
  if (reply.raw.socket !== null || plan.transport.options.ownsServer) call.start()
  else runInTurn(request.raw, reply.raw, () => call.start())
}

/** A request for a service method, until it is answered. */
class RestCall implements ServedCall {
  #plan: RestPlan
  readonly method: MethodEntry
  readonly target: Target
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  facts: RequestFacts | null = null
  context: HookContext | null = null
  body: unknown = undefined
  serialize: BodySerializer | null = null
  #watches: CallWatch[] | null = null

  constructor(plan: RestPlan, target: Target, request: FastifyRequest, reply: FastifyReply) {
    this.#plan = plan
    this.method = plan.method
    this.target = target
    this.request = request
    this.reply = reply
  }

  start(): void {
    try {
      for (const watch of this.#plan.watch) {
        this.#watches ??= []
        this.#watches.push(watch(this))
      }
      this.#goOn(0)
    } catch (error) {
      this.#fail(error)
    }
  }

  failEarly(error: Error): void {
    this.facts?.abort(error)
    this.#answerError(error)
  }

  /** Runs what comes before the call, from one of its steps on; then the call. */
  #goOn(first: number): void {
    const { before } = this.#plan
    for (let index = first; index < before.length; index += 1) {
      const pending = before[index]?.(this)
      if (pending === undefined) continue
      pending
        .then((goesOn) => this.#goOnLater(goesOn, index + 1))
        .catch((error: unknown) => this.#fail(error))
      return
    }
    this.#call()
  }

  #goOnLater(goesOn: boolean, next: number): void {
    // The call may have been given up meanwhile, and hooks may have been added.
    if (!goesOn || isAnswered(this.reply)) {
      this.#end()
      return
    }
    watchSend(this.reply)
    this.#plan = this.#plan.latest()
    this.#goOn(next)
  }

  #call(): void {
    const { method, target } = this
    const params = this.#createParams()
    const data = method.spec.arguments.includes('data') ? readData(this.request.body) : undefined
    const id = method.spec.withId ? target.id : undefined
    const context = new HookContext(method, method.entry.service, id, data, params)
    this.context = context
    for (const stream of this.#plan.stream) {
      const opened = stream(this as ContextCall)
      if (opened === null) continue
      opened.then(
        () => this.#end(),
        (error: unknown) => this.#fail(error),
      )
      return
    }
    // Called from a microtask, where the stack is short: that halves the cost of an error.
    RESOLVED.then(() => this.#run(context))
  }

  #createParams(): RestParams {
    const { request, reply } = this
    const plan = this.#plan
    for (const check of plan.check) check(this)
    let query = plan.transport.readQuery(request)
    for (const change of plan.query) query = change(this, query)
    this.facts = new RequestFacts(request, reply)
    const feathers = getFeathersParams(request)
    const params = new RestParams(this.facts, request.headers, query, this.target.route, feathers)
    for (const add of plan.params) add(this, params)
    return params
  }

  #run(context: HookContext): void {
    try {
      const pending = startCall(this.method, context)
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

  /** Answers a call that went well: `context.dispatch`, else `context.result`. */
  #answer(context: HookContext, returned: unknown): void {
    const { reply, request } = this
    const plan = this.#plan
    try {
      finishCall(this.method, context, returned)
      if (isAnswered(reply)) {
        this.#end()
        return
      }
      this.body = toBody(context.dispatch === undefined ? context.result : context.dispatch)
      // A hook may have set it to undefined.
      context.http ??= {}
      setCommonHeaders(plan.transport, request, reply, plan.isLogin)
      if (context.http.headers || context.http.location) setHeaders(reply, context.http)
      reply.hook = context
      reply.code(toStatus(context, this.body))
      for (const set of plan.headers) set(this as ContextCall)
      if (plan.transform.length > 0) this.#transform()
      else this.#send()
    } catch (error) {
      this.#fail(error)
    }
  }

  async #transform(): Promise<void> {
    try {
      for (const transform of this.#plan.transform) {
        if (!(await transform(this as ContextCall))) return this.#end()
      }
      this.#send()
    } catch (error) {
      this.#fail(error)
    }
  }

  #send(): void {
    const { reply, body } = this
    for (const prepare of this.#plan.beforeSend) {
      if (prepare(this as ContextCall)) continue
      this.#end()
      return
    }
    // Asked before hooks of the server run: compression takes the length away.
    const mayBeEndless = isSentAsItIs(body) && isEndless(reply, body)
    sendBody(reply, body, this.serialize)
    if (mayBeEndless) this.#plan.transport.followEndless(reply)
    this.#end()
  }

  #fail(error: unknown): void {
    if (this.context !== null) watchRests(this.context)
    this.#answerError(error)
    this.#end()
  }

  #answerError(error: unknown): void {
    const match = { entry: this.method.entry, id: this.target.id }
    const setHeaders = (answered: ServiceError): void => {
      for (const set of this.#plan.errorHeaders) set(this, answered)
    }
    const call = { context: this.context, match, setHeaders }
    answerError(this.#plan.transport, error, this.request, this.reply, call)
  }

  #end(): void {
    const watches = this.#watches
    if (watches === null) return
    this.#watches = null
    for (const watch of watches) watch.end(this)
  }
}

/** Returns the data of a call: `{}` without a body, since clients send none for `undefined`. */
function readData(body: unknown): object {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null) {
    throw new BadRequest('The body must be an object or an array')
  }
  return body
}
