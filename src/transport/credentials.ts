import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticationRequest, Query } from '../core/index.ts'
import { parseCaller } from './parse-authentication.ts'
import { setPrivate } from './replies/headers.ts'
import type { RestFeature } from './rest-plan.ts'

type Caller = AuthenticationRequest | null

/** The query parameter of links with a token. */
const TOKEN_PARAMETER = 'access_token'

/**
 * Sets the caller's credentials in `request.feathers.authentication`, unless a hook of Fastify has set them. Verifies
 * nothing.
 */
export const credentials: RestFeature = (_method, { app, authentication, hasLogins }) => {
  if (!hasLogins) return null
  return {
    before: function parseCredentials({ request, reply }) {
      const caller = parseCaller(app, authentication, request, reply)
      if (!(caller instanceof Promise)) {
        setCaller(request, caller)
        return undefined
      }
      return caller.then((parsed) => {
        setCaller(request, parsed)
        return true
      })
    },
  }
}

/** Takes the token of a link out of the query. */
export const queryToken: RestFeature = (_method, { acceptsQueryToken }) => ({
  query: ({ request, reply }, query) => {
    if (query[TOKEN_PARAMETER] === undefined) return query
    setCaller(request, takeQueryToken(query, acceptsQueryToken, reply))
    return query
  },
})

function setCaller(request: FastifyRequest, caller: Caller): void {
  if (caller !== null) request.feathers['authentication'] ??= caller
}

/**
 * Removes the token of a link from a query. Returns it as an authentication request if links may carry one, otherwise
 * `null`. In either case the response to a link with a token is not cached.
 */
function takeQueryToken(query: Query, isAccepted: boolean, reply: FastifyReply): Caller {
  const { [TOKEN_PARAMETER]: accessToken } = query
  if (accessToken === undefined) return null
  setPrivate(reply)
  if (!isAccepted) return null
  delete query[TOKEN_PARAMETER]
  reply.header('referrer-policy', 'no-referrer')
  return typeof accessToken === 'string' ? { strategy: 'jwt', accessToken } : null
}
