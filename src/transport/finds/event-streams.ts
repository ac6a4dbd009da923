import { describeFunction } from '../../core/function-metadata.ts'
import type { RestFeature } from '../rest-plan.ts'
import { findStreams } from './request-streams.ts'
import { takesStreams } from './stream-choice.ts'

/** Answers `find` by a stream of events, where the application has `realtime()`. */
export const eventStreams: RestFeature = (method, transport) => {
  if (!takesStreams(method, transport)) return null
  return {
    streams: ({ request }) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') return []
      // Looked up for each call: realtime() may be added to an application that is served already.
      const live = findStreams(transport.app)
      if (live === null) return []
      return [{ mediaType: 'text/event-stream', open: (call) => live.open(call) }]
    },
  }
}

describeFunction(eventStreams, {
  terms: {
    // OpenAPI has no form for events, but browsers of other origins may send the header.
    isFor: () => false,
    header: { name: 'Last-Event-ID', description: 'The id of the last event that the caller has.' },
  },
})
