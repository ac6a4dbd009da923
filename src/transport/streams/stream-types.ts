import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MethodEntry } from '../../core/index.ts'
import { isStreamable } from '../../core/services/record-stream.ts'
import { getMiddleware } from '../middleware.ts'
import { toQuality } from '../replies/accept.ts'
import { addVary } from '../replies/headers.ts'
import type { RestTransport } from '../rest-transport.ts'
import type { RecordFormat } from './record-formats.ts'
import { RECORD_FORMATS } from './record-formats.ts'
import { sendRecords } from './record-stream.ts'
import type { RequestStreams, StreamedCall } from './request-streams.ts'
import { findStreams } from './request-streams.ts'

/** Answers a call by a stream. Resolves when the answer has begun; rejects with what it is refused for. */
type OpenStream = (call: StreamedCall) => Promise<void>

/** One media type of the streams of `find`. */
interface StreamType {
  readonly mediaType: string
  /**
   * Returns what answers by it, `null` where nothing does.
   * @param live the live queries of the application, `null` for none
   * @param hasRecords whether the records of the service can be streamed
   */
  find(live: RequestStreams | null, hasRecords: boolean): OpenStream | null
}

const EVENTS: StreamType = {
  mediaType: 'text/event-stream',
  find: (live) => live && ((call) => live.open(call)),
}

function toStreamType(format: RecordFormat): StreamType {
  return {
    mediaType: format.mediaType,
    find: (_live, hasRecords) => (hasRecords ? (call) => sendRecords(call, format) : null),
  }
}

const STREAM_TYPES: readonly StreamType[] = [EVENTS, ...RECORD_FORMATS.map(toStreamType)]

/**
 * Returns what answers a request by a stream: the one that its `Accept` header wants most, and more than JSON.
 * `null` for none. Where functions behind the service or a formatter make the answers there is none: they would
 * not see it.
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
  const live = verb === 'GET' ? findStreams(transport.app) : null
  const hasRecords = isStreamable(entry.service)
  if (live === null && !hasRecords) return null
  if (hasRecords) addVary(reply, 'accept')
  const accept = headers.accept?.toLowerCase() ?? ''
  const named = STREAM_TYPES.filter(({ mediaType }) => accept.includes(mediaType))
  if (named.length === 0) return null
  let best: OpenStream | null = null
  let most = toQuality(accept, 'application/json')
  for (const { mediaType, find } of named) {
    const quality = toQuality(accept, mediaType)
    const open = quality > most ? find(live, hasRecords) : null
    if (open !== null) [best, most] = [open, quality]
  }
  return best
}
