import { describeFunction } from '../../core/function-metadata.ts'
import { findIdNames } from '../../core/schema/resolvers/selection.ts'
import { isObject } from '../../core/value-kind.ts'
import type { RestFeature } from '../rest-plan.ts'
import { toPath } from '../routing/request-path.ts'

/** Sets the location of a new record, after a create in the collection. */
export const locationOfNewRecords: RestFeature = ({ name, entry }, { routing }) => {
  const { methods, options, service } = entry
  // Only a record that external callers can get has a location.
  if (name !== 'create' || options.singleton || methods.get('get')?.external !== true) return null
  // Most requests have the same URL, whose path is then read once.
  let url = ''
  let base = ''
  return {
    headers: ({ body, reply, request, target }) => {
      if (target.id !== null || reply.statusCode !== 201) return
      const id = findId(service, body)
      if (id === undefined || reply.hasHeader('location')) return
      if (request.originalUrl !== url) {
        url = request.originalUrl
        const path = toPath(url, routing)
        base = path.endsWith('/') ? path : `${path}/`
      }
      reply.header('location', base + encodeURIComponent(id))
    },
  }
}

describeFunction(locationOfNewRecords, {
  terms: {
    isFor: ({ method, isRecord, hasMethod }) => method === 'create' && isRecord && hasMethod('get'),
    answerHeaders: { Location: { description: 'The path of the record.' } },
  },
})

/** Returns the id of a new record, which may hold any character. */
function findId(service: object, body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  for (const name of findIdNames(service)) {
    if (body[name] == null) continue
    const id = String(body[name])
    return id.isWellFormed() ? id : undefined
  }
  return undefined
}
