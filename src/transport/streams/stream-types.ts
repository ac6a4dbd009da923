import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MethodEntry } from '../../core/index.ts'
import { isStreamable } from '../../core/services/record-stream.ts'
import { getMiddleware } from '../middleware.ts'
import { toQuality } from '../replies/accept.ts'
import { addVary } from '../replies/headers.ts'
import type { RestTransport } from '../rest-transport.ts'
import { RECORD_FORMATS } from './record-formats.ts'
import { sendRecords } from './record-stream.ts'
import type { RequestStreams, StreamedCall } from './request-streams.ts'
import { findStreams } from './request-streams.ts'

/** Answers a call by a stream. Resolves when the answer has begun; rejects with what it is refused for. */
type OpenStream = (call: StreamedCall) => Promise<void>

/** A media type of the streams of `find`, and what answers by it. */
interface StreamType {
  readonly mediaType: string
  readonly open: OpenStream
}

const RECORD_TYPES: readonly StreamType[] = RECORD_FORMATS.map((format) => ({
  mediaType: format.mediaType,
  open: (call) => sendRecords(call, format),
}))

function toEventType(live: RequestStreams): StreamType {
  return { mediaType: 'text/event-stream', open: (call) => live.open(call) }
}

/**
 * Returns what answers a request by a stream: the one that its `Accept` header wants most, and more than JSON.
 * `null` for none. Functions behind the service and formatters would not see a stream: where there are any, the
 * answer is none. Adds `Accept` to `Vary` where the records of the service can be streamed.
 */
export function findStream(
  transport: RestTransport,
  method: MethodEntry,
  { method: verb, headers }: FastifyRequest,
  reply: FastifyReply,
): OpenStream | null {
  const { entry, name } = method
  if (name !== 'find') return null
  if (entry.options.singleton || transport.options.formatter != null) return null
  if ((getMiddleware(entry)?.after.length ?? 0) > 0) return null
  const live = verb === 'GET' || verb === 'HEAD' ? findStreams(transport.app) : null
  const hasRecords = isStreamable(entry.service)
  if (live === null && !hasRecords) return null
  if (hasRecords) addVary(reply, 'accept')
  const accept = headers.accept?.toLowerCase() ?? ''
  const records = hasRecords ? RECORD_TYPES : []
  const types = live === null ? records : [toEventType(live), ...records]
  const named = types.filter(({ mediaType }) => accept.includes(mediaType))
  if (named.length === 0) return null
  let best: OpenStream | null = null
  let most = toQuality(accept, 'application/json')
  for (const { mediaType, open } of named) {
    const quality = toQuality(accept, mediaType)
    if (quality > most) [best, most] = [open, quality]
  }
  return best
}
