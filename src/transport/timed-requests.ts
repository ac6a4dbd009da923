import type { IncomingMessage } from 'node:http'
import { ResponseTimeout } from '../core/errors/coded-errors.ts'
import { isAnswered, isGone } from './replies/reply-state.ts'
import type { RestFeature, WatchedCall } from './rest-plan.ts'
import { isRead } from './rest-plan.ts'
import { awaitsClient } from './server/slow-bodies.ts'

/** The key under which a request records that its call has read something since the last check. */
const HAS_READ: unique symbol = Symbol('remex.hasRead')

type TimedRequest = IncomingMessage & { [HAS_READ]?: boolean }

/** Records that a call has made progress: its `handlerTimeoutMs` starts again. */
export function noteProgress(request: TimedRequest): void {
  request[HAS_READ] = true
}

/** Ends calls that take longer than the option `handlerTimeoutMs`, and aborts their `params.signal`. */
export const timeLimitOfCalls: RestFeature = (_method, { timeLimit }) => {
  if (timeLimit === null) return null
  return {
    watch: (call) => {
      const timeOut = (limitMs: number): void => {
        const raw: TimedRequest = call.request.raw
        const needsTime = raw[HAS_READ] === true || awaitsClient(raw)
        raw[HAS_READ] = false
        if (needsTime) timed = timeLimit.start(timeOut)
        else failLate(call, limitMs)
      }
      let timed = timeLimit.start(timeOut)
      return ({ reply }) => {
        // A function or a formatter may send the response later, or never. A closed connection does not emit `close` again.
        if (isAnswered(reply) || isGone(reply.raw)) timed.endWatch()
        else reply.raw.once('close', () => timed.endWatch())
      }
    },
  }
}

/** Responds with 503. A call that has started continues, so its write may still happen. */
function failLate(call: WatchedCall, limitMs: number): void {
  const isUnknown = call.context !== null && !isRead(call.method)
  const data = isUnknown ? { errors: { outcome: 'unknown' } } : null
  call.failEarly(new ResponseTimeout(`No answer within ${limitMs} ms`, data))
}
