import { describeFunction } from '../../core/function-metadata.ts'
import type { RestFeature, StreamType } from '../rest-plan.ts'
import { findStreams, takesStreams } from './request-streams.ts'

/** Responds to `find` with a stream of events, if the application has `realtime()`. */
export const eventStreams: RestFeature = (method, transport) => {
  const live = findStreams(transport.app)
  if (live === null || !takesStreams(method, transport)) return null
  const types: readonly StreamType[] = [
    { mediaType: 'text/event-stream', open: (call) => live.open(call) },
  ]
  return {
    streams: ({ request }) => (request.method === 'GET' || request.method === 'HEAD' ? types : []),
  }
}

describeFunction(eventStreams, {
  terms: {
    // OpenAPI cannot describe events, but browsers of other origins may send the header.
    isFor: () => false,
    header: { name: 'Last-Event-ID', description: 'The id of the last event that the caller has.' },
  },
})
