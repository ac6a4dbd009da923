import type { FastifyInstance, FastifyRequest } from 'fastify'

/** The verb of a read with its query in the body. @see draft-ietf-httpbis-safe-method-w-body */
export const QUERY = 'QUERY'

/** Lets a server accept queries in the body. Returns the verbs for them. */
export function addQueryVerbs(scope: FastifyInstance): readonly string[] {
  if (!scope.supportedMethods.includes(QUERY)) scope.addHttpMethod(QUERY, { hasBody: true })
  return ['POST', QUERY]
}

/** Returns whether a request calls `find` with a body: by its verb, or by a POST that names the method. */
export function asksByBody({ method, headers }: FastifyRequest): boolean {
  return method === QUERY || (method === 'POST' && headers['x-service-method'] === 'find')
}
