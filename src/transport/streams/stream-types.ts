import type { FastifyRequest } from 'fastify'
import { isStreamable } from '../../core/services/record-stream.ts'
import { hasFunctionsAfter } from '../middleware.ts'
import { toQuality } from '../replies/accept.ts'
import { addVary } from '../replies/headers.ts'
import type { RestFeature } from '../rest-plan.ts'
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
 * Answers `find` by the stream that the `Accept` header wants most, and more than JSON. Functions behind the service
 * and formatters would not see a stream: where there are any, there is none. Adds `Accept` to `Vary` where the records
 * of the service can be streamed.
 */
export const streams: RestFeature = (method, transport) => {
  const { entry, name } = method
  if (name !== 'find' || entry.options.singleton || transport.options.formatter != null) return null
  if (hasFunctionsAfter(entry)) return null
  return {
    stream: (call) => {
      const { context, reply, request } = call
      const records = isStreamable(entry.service) ? RECORD_TYPES : []
      const isSafe = request.method === 'GET' || request.method === 'HEAD'
      // Looked up for each call: realtime() may be added to an application that is served already.
      const live = isSafe ? findStreams(transport.app) : null
      if (records.length > 0) addVary(reply, 'accept')
      const open = findStream(live === null ? records : [toEventType(live), ...records], request)
      return open?.({ transport, method, context, request, reply }) ?? null
    },
  }
}

function findStream(types: readonly StreamType[], { headers }: FastifyRequest): OpenStream | null {
  if (types.length === 0) return null
  const accept = headers.accept?.toLowerCase() ?? ''
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
