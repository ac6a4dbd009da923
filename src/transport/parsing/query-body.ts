import type { FastifyRequest } from 'fastify'
import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import type { Query } from '../../core/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { RestFeature } from '../rest-plan.ts'
import { hasBody } from './request-body.ts'

/** Makes `find` read its query from the body. No other request for it has a body. */
export const queryBody: RestFeature = ({ name }, { queryVerbs }) => {
  if (name !== 'find' || queryVerbs.length === 0) return null
  return {
    query: ({ request }, inURL) => {
      const { method } = request
      return method === 'GET' || method === 'HEAD' ? inURL : readQueryBody(request, inURL)
    },
  }
}

/**
 * Returns the query in a body.
 * @param inURL the query in the URL, which must be empty
 * @throws {BadRequest} the body is not an object, or there are two queries
 */
function readQueryBody(request: FastifyRequest, inURL: Query): Query {
  const { body } = request
  if (Object.keys(inURL).length > 0) {
    throw new InvalidQuery('The query is either in the URL or in the body, not in both')
  }
  // A host may have added the verb as one without a body, so that the body was never read.
  if (body === undefined && hasBody(request))
    throw new InvalidQuery('The body of this request was not read')
  if (body === undefined) return {}
  if (isPlainObject(body)) return body
  throw new InvalidQuery('The body must be an object, the query')
}
