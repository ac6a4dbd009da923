import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { MethodEntry, Query } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'

/** The verb of a read whose query is its body. @see draft-ietf-httpbis-safe-method-w-body */
export const QUERY = 'QUERY'

/** Has a server take queries as bodies. Returns the verbs for them. */
export function addQueryVerbs(scope: FastifyInstance): readonly string[] {
  if (!scope.supportedMethods.includes(QUERY)) scope.addHttpMethod(QUERY, { hasBody: true })
  return ['POST', QUERY]
}

/** Whether a request asks for `find` by a body: by its verb, or by a POST that names the method. */
export function asksByBody({ method, headers }: FastifyRequest): boolean {
  return method === QUERY || (method === 'POST' && headers['x-service-method'] === 'find')
}

/** Whether a call reads its query from the body: no other request for `find` has one. */
export function hasQueryBody({ name }: MethodEntry, { method }: FastifyRequest): boolean {
  return name === 'find' && method !== 'GET' && method !== 'HEAD'
}

/**
 * Returns the query that a body is.
 * @param inURL what the URL says, which has to be nothing
 * @throws {BadRequest} the body is no object, or there are two queries
 */
export function readQueryBody({ body, headers }: FastifyRequest, inURL: Query): Query {
  if (Object.keys(inURL).length > 0) {
    throw new BadRequest('The query is either in the URL or in the body, not in both')
  }
  // A host may have added the verb as one without a body, so that nobody has read it.
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  const isUnread = body === undefined && (length !== '0' || encoding !== undefined)
  if (isUnread) throw new BadRequest('The body of this request was not read')
  if (body === undefined) return {}
  if (isPlainObject(body)) return body
  throw new BadRequest('The body must be an object, the query')
}
