import { BadRequest, NotAcceptable } from '../../core/index.ts'
import { setHeaders } from '../replies/headers.ts'
import { isAnswered, isGone } from '../replies/reply-state.ts'
import type { StreamedCall } from '../rest-plan.ts'
import { setCommonHeaders } from '../service-reply.ts'

/** What answers requests by streams of events: `realtime()` gives it to an application. */
export interface RequestStreams {
  /** How many streams are open. */
  readonly size: number
  /** Returns how many streams are open by the paths of their services; those without one are left out. */
  countByPath(): Readonly<Record<string, number>>
  /** Resolves when the answer has begun; rejects with the error to return. */
  open(call: StreamedCall): Promise<void>
}

/** Where an application keeps what answers by streams. */
const STREAMS: unique symbol = Symbol('remex.streams')

/** Gives an application what answers requests for streams. */
export function setStreams(app: object, streams: RequestStreams): void {
  Object.defineProperty(app, STREAMS, { value: streams })
}

/** Returns what answers requests for streams, `null` without `realtime()`. */
export function findStreams(app: object): RequestStreams | null {
  return (app as { readonly [STREAMS]?: RequestStreams })[STREAMS] ?? null
}

/**
 * Sets the headers of an answer that is a stream. Returns `false` where the call was answered meanwhile: it
 * has taken too long.
 * @throws {NotAcceptable} a hook has chosen another answer
 * @throws {BadRequest} nobody is there to read it
 */
export function beginAnswer({ context, request, reply, transport }: StreamedCall): boolean {
  const { status = 200, location } = context.http
  if (status !== 200 || location !== undefined) {
    throw new NotAcceptable('A hook of find answers by another status: there is no stream')
  }
  if (isAnswered(reply)) return false
  if (isGone(reply.raw)) throw new BadRequest('The client has gone')
  setCommonHeaders(transport, request, reply, transport.isLogin(context.service))
  setHeaders(reply, context.http)
  return true
}
