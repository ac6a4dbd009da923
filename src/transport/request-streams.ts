import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HookContext, MethodEntry } from '../core/index.ts'
import { getMiddleware } from './middleware.ts'
import { toQuality } from './replies/accept.ts'
import type { RestTransport } from './rest-transport.ts'

/** A request that is answered by a stream. */
export interface StreamedCall {
  readonly transport: RestTransport
  readonly method: MethodEntry
  readonly context: HookContext
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** What answers requests by streams: `realtime()` gives it to an application. */
export interface RequestStreams {
  /** How many streams are open. */
  readonly size: number
  /** Returns how many streams are open by the paths of their services; those without one are left out. */
  countByPath(): Readonly<Record<string, number>>
  /** Resolves when the answer has begun; rejects with what it is refused for. */
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
 * Whether a request is for a stream of records. Where functions behind the service or a formatter make
 * the answers there is none: they would not see it.
 */
export function wantsStream(
  { options }: RestTransport,
  { name, entry }: MethodEntry,
  { method, headers }: FastifyRequest,
): boolean {
  const { accept } = headers
  if (name !== 'find' || method !== 'GET' || !accept?.toLowerCase().includes(EVENT_STREAM)) {
    return false
  }
  if (entry.options.singleton || options.formatter != null) return false
  if ((getMiddleware(entry)?.after.length ?? 0) > 0) return false
  const quality = toQuality(accept, EVENT_STREAM)
  return quality > toQuality(accept, 'application/json')
}

const EVENT_STREAM = 'text/event-stream'
