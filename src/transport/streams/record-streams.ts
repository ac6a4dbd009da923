import { describeFunction } from '../../core/function-metadata.ts'
import { isStreamable } from '../../core/services/record-stream.ts'
import { takesStreams } from '../finds/request-streams.ts'
import { addVary } from '../replies/headers.ts'
import type { RestFeature, StreamType } from '../rest-plan.ts'
import { RECORD_FORMATS } from './record-formats.ts'
import { sendRecords } from './record-stream.ts'

const RECORD_TYPES: readonly StreamType[] = RECORD_FORMATS.map((format) => ({
  mediaType: format.mediaType,
  open: (call) => sendRecords(call, format),
}))

/** Responds to `find` with NDJSON or CSV, if the records of the service can be streamed. */
export const recordStreams: RestFeature = (method, transport) => {
  const { service } = method.entry
  if (!('streamRecords' in service) || !takesStreams(method, transport)) return null
  return {
    streams: ({ reply }) => {
      // The option that allows streams may change.
      if (!isStreamable(service)) return []
      addVary(reply, 'accept')
      return RECORD_TYPES
    },
  }
}

describeFunction(recordStreams, {
  terms: {
    isFor: ({ method, options, service }) =>
      method === 'find' && !options.singleton && isStreamable(service),
    mediaTypes: Object.fromEntries(
      RECORD_FORMATS.map(({ mediaType, description }) => [mediaType, description]),
    ),
  },
})
