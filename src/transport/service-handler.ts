import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MethodEntry, ServiceError } from '../core/index.ts'
import { HookContext } from '../core/index.ts'
import { chooseStream } from './finds/request-streams.ts'
import { readData } from './parsing/request-body.ts'
import type { BodySerializer } from './replies/body.ts'
import { isAnswered, watchSend } from './replies/reply-state.ts'
import { ExternalParams, getFeathersParams, RequestFacts } from './request-params.ts'
import type { CallEnd, ContextCall, RestPlan, ServedCall, Target } from './rest-plan.ts'
import { runInTurn } from './server/pipelined-requests.ts'
import { answerError, answerResult, discardResult } from './service-reply.ts'

const RESOLVED = Promise.resolve()

/**
 * A request for a service method, until its response. The list in `rest-features.ts` determines what runs before and
 * after the method, and in which order.
 */
export class RestCall implements ServedCall {
  #plan: RestPlan
  /**
   * The steps before the call, as they were when it arrived: services may be added or removed while one of them waits.
   */
  readonly #before: RestPlan['before']
  readonly method: MethodEntry
  readonly target: Target
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  facts: RequestFacts | null = null
  context: HookContext | null = null
  body: unknown = undefined
  serialize: BodySerializer | null = null
  #ends: CallEnd[] | null = null
  #hasTurn = false
  /** How many of the steps before the call have run. */
  #stepsRun = 0
  #hasProceeded = false

  constructor(plan: RestPlan, target: Target, request: FastifyRequest, reply: FastifyReply) {
    this.#plan = plan
    this.#before = plan.before
    this.method = plan.method
    this.target = target
    this.request = request
    this.reply = reply
  }

  /**
   * Starts the call as soon as earlier responses on the connection have been sent.
   * @param goOn runs then. Default: the rest of the call
   */
  start(goOn?: () => void): void {
    const { raw } = this.reply
    // On a server that we create, the request guard has done this before the body was read.
    if (raw.socket === null && !this.#hasTurn && !this.#plan.transport.options.ownsServer) {
      this.#hasTurn = true
      runInTurn(this.request.raw, raw, () => this.start(goOn))
      return
    }
    try {
      for (const watch of this.#plan.watch) {
        this.#ends ??= []
        this.#ends.push(watch(this))
      }
      if (goOn === undefined) this.proceed()
      else goOn()
    } catch (error) {
      this.fail(error)
    }
  }

  failEarly(error: Error): void {
    this.facts?.abort(error)
    this.#answerError(error)
  }

  /** Runs the steps before the call that have not run yet, then the call. */
  proceed(): void {
    this.#hasProceeded = true
    if (this.#stepsRun < this.#before.length) {
      this.runStep(() => this.proceed())
      return
    }
    try {
      this.#call()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Runs the next step before the call, then a function, unless the step responds. */
  runStep(goOn: () => void): void {
    const step = this.#before[this.#stepsRun]
    this.#stepsRun += 1
    try {
      const pending = step?.(this)
      if (pending === undefined) goOn()
      else {
        pending
          .then((goesOn) => this.#goOnLater(goesOn, goOn))
          .catch((error: unknown) => this.fail(error))
      }
    } catch (error) {
      this.fail(error)
    }
  }

  /** If a user's hook responds before the handler runs, ends the call when the connection closes. */
  endIfLeft(): void {
    if (this.#hasProceeded || this.#ends === null) return
    this.reply.raw.once('close', () => this.end())
  }

  #goOnLater(goesOn: boolean, goOn: () => void): void {
    // The call may have failed early in the meantime, and hooks may have been added.
    if (!goesOn || isAnswered(this.reply)) {
      this.end()
      return
    }
    watchSend(this.reply)
    this.#plan = this.#plan.latest()
    goOn()
  }

  #call(): void {
    const { method, target, request } = this
    const plan = this.#plan
    const { spec, entry } = method
    for (const check of plan.check) check(this)
    let query = plan.transport.readQuery(request)
    for (const change of plan.query) query = change(this, query)
    const facts = new RequestFacts(request, this.reply)
    this.facts = facts
    const feathers = getFeathersParams(request)
    const params = new ExternalParams(facts, request.headers, query, target.route, feathers)
    for (const add of plan.params) add(this, params)
    const data = spec.arguments.includes('data') ? readData(request.body) : undefined
    const id = spec.withId ? target.id : undefined
    const context = new HookContext(method, entry.service, id, data, params)
    this.context = context
    if (plan.streams.length > 0 && this.#openStream(plan, context)) return
    // Called from a microtask, where the stack is short: that halves the cost of an error.
    RESOLVED.then(() => {
      try {
        const pending = method.start(context)
        if (pending === undefined) answerResult(plan, this as ContextCall, context.result)
        else {
          Promise.resolve(pending).then(
            (returned) => answerResult(plan, this as ContextCall, returned),
            (error: unknown) => this.fail(error),
          )
        }
      } catch (error) {
        this.fail(error)
      }
    })
  }

  /** Responds with the stream that the client prefers to JSON. Returns whether there is one. */
  #openStream({ streams, transport }: RestPlan, context: HookContext): boolean {
    const { method, request, reply } = this
    const types = streams.flatMap((list) => list(this as ContextCall))
    const stream = chooseStream(types, request)
    if (stream === null) return false
    stream.open({ transport, method, context, request, reply }).then(
      () => this.end(),
      (error: unknown) => this.fail(error),
    )
    return true
  }

  fail(error: unknown): void {
    const isUnsent = !isAnswered(this.reply) || this.facts?.isAborted
    this.#answerError(error)
    if (isUnsent && this.context !== null) discardResult(this.context)
    this.end()
  }

  #answerError(error: unknown): void {
    const match = { entry: this.method.entry, id: this.target.id }
    const setHeaders = (answered: ServiceError): void => {
      for (const set of this.#plan.errorHeaders) set(this, answered)
    }
    const call = { context: this.context, match, setHeaders }
    answerError(this.#plan.transport, error, this.request, this.reply, call)
  }

  end(): void {
    const ends = this.#ends
    if (ends === null) return
    this.#ends = null
    for (const end of ends) end(this)
  }
}
