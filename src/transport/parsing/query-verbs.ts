import type { FastifyInstance, FastifyRequest } from 'fastify'

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
