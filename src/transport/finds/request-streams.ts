import { BadRequest, NotAcceptable } from '../../core/index.ts'
import { setHeaders } from '../replies/headers.ts'
import { isAnswered, isGone } from '../replies/reply-state.ts'
import type { StreamedCall } from '../rest-plan.ts'
import { setCommonHeaders } from '../service-reply.ts'

/** Responds to requests with streams of events. `realtime()` adds it to an application. */
export interface RequestStreams {
  /** The number of open streams. */
  readonly size: number
  /** Returns the number of open streams by the paths of their services; services without streams are left out. */
  countByPath(): Readonly<Record<string, number>>
  /** Resolves when the response has started; rejects with the error to return. */
  open(call: StreamedCall): Promise<void>
}

/** The key of an application's `RequestStreams`. */
const STREAMS: unique symbol = Symbol('remex.streams')

/** Sets what responds to requests for streams. */
export function setStreams(app: object, streams: RequestStreams): void {
  Object.defineProperty(app, STREAMS, { value: streams })
}

/** Returns what responds to requests for streams, `null` without `realtime()`. */
export function findStreams(app: object): RequestStreams | null {
  return (app as { readonly [STREAMS]?: RequestStreams })[STREAMS] ?? null
}

/**
 * Sets the headers of a response that is a stream. Returns `false` if the call has already been answered, because it
 * took too long.
 * @throws {NotAcceptable} a hook has chosen another response
 * @throws {BadRequest} the client has left
 */
export function beginAnswer({ context, request, reply, transport }: StreamedCall): boolean {
  const { status = 200, location } = context.http
  if (status !== 200 || location !== undefined) {
    throw new NotAcceptable('A hook of find sets another status: there is no stream')
  }
  if (isAnswered(reply)) return false
  if (isGone(reply.raw)) throw new BadRequest('The client has gone')
  setCommonHeaders(transport, request, reply, transport.isLogin(context.service))
  setHeaders(reply, context.http)
  return true
}
