import type { FastifyRequest } from 'fastify'
import { CallAborted, StreamUnsupported } from '../../core/errors/coded-errors.ts'
import type { MethodEntry } from '../../core/index.ts'
import { hasFunctionsAfter } from '../middleware.ts'
import { toQuality } from '../replies/accept.ts'
import { setHeaders } from '../replies/headers.ts'
import { isAnswered, isGone } from '../replies/reply-state.ts'
import type { StreamedCall, StreamType } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
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
 * Returns whether a method may respond with streams. Functions after the service and formatters would not see a stream,
 * so with any of them there is none.
 */
export function takesStreams({ entry, name }: MethodEntry, { options }: RestTransport): boolean {
  if (name !== 'find' || entry.options.singleton) return false
  return options.formatter == null && !hasFunctionsAfter(entry)
}

/**
 * Returns the stream that the URL has chosen, otherwise the one that the `Accept` header prefers, also over JSON; `null`
 * if neither asks for one.
 */
export function chooseStream(
  types: readonly StreamType[],
  { headers }: FastifyRequest,
): StreamType | null {
  if (types.length === 0) return null
  const chosen = types.find(({ isChosen }) => isChosen)
  if (chosen !== undefined) return chosen
  const accept = headers.accept?.toLowerCase() ?? ''
  const named = types.filter(({ mediaType }) => accept.includes(mediaType))
  if (named.length === 0) return null
  let best: StreamType | null = null
  let most = toQuality(accept, 'application/json')
  for (const type of named) {
    const quality = toQuality(accept, type.mediaType)
    if (quality > most) [best, most] = [type, quality]
  }
  return best
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
    throw new StreamUnsupported('A hook of find sets another status: there is no stream')
  }
  if (isAnswered(reply)) return false
  if (isGone(reply.raw)) throw new CallAborted('The client has gone')
  setCommonHeaders(transport, request, reply, transport.isLogin(context.service))
  setHeaders(reply, context.http)
  return true
}
