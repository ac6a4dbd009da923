import { Unavailable } from '../core/index.ts'
import { TimedCall } from './call-time-limit.ts'
import { isAnswered } from './replies/reply-state.ts'
import type { CallWatch, RestFeature, ServedCall } from './rest-plan.ts'

/** A request for a service. It answers with 503 when the time is up. */
class TimedRequest extends TimedCall implements CallWatch {
  readonly #call: ServedCall

  constructor(call: ServedCall) {
    super()
    this.#call = call
  }

  override timeOut(limitMs: number): void {
    const { context, method } = this.#call
    // A call that has begun goes on: what it was to write may be written.
    const isUnknown = context !== null && method.spec.verb !== 'GET'
    const data = isUnknown ? { errors: { outcome: 'unknown' } } : null
    this.#call.failEarly(new Unavailable(`No answer within ${limitMs} ms`, data))
  }

  /** A function or a formatter may send the answer later, or never. */
  end({ reply }: ServedCall): void {
    if (isAnswered(reply)) this.endWatch()
    else reply.raw.once('close', () => this.endWatch())
  }
}

/** Ends calls that take longer than the option `handlerTimeoutMs`, and aborts their `params.signal`. */
export const timeLimitOfCalls: RestFeature = (_method, { timeLimit }) => {
  if (timeLimit === null) return null
  return {
    watch: (call) => {
      const request = new TimedRequest(call)
      timeLimit.start(request)
      return request
    },
  }
}
