import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticateOptions } from '../auth/hooks/authenticate.ts'
import { authenticate, authenticateParams } from '../auth/hooks/authenticate.ts'
import { checkAuthenticate } from '../auth/hooks/authenticate-check.ts'
import type { AnyApplication, Application, Params } from '../core/index.ts'
import { parseCaller } from './parse-authentication.ts'
import { setPrivate } from './replies/private-reply.ts'

/**
 * Returns a `preHandler` that protects a plain route of Fastify as the `authenticate` hook protects
 * a service: `server.get('/me', { preHandler: authenticateRequest(app, 'jwt') }, handler)`. The
 * handler finds who calls in `request.feathers`: `{ authentication, user, … }`. Errors go to the
 * error handler of the route; they have a `statusCode`, which Fastify's own handler answers with.
 * @throws {TypeError} there is no strategy; when the application is set up, none of this name
 * @throws {NotAuthenticated} in requests: nothing is proven
 */
export function authenticateRequest(
  app: AnyApplication,
  first: string | AuthenticateOptions,
  ...others: string[]
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const untyped = app as unknown as Application
  // Called for its check of the strategies, so that a mistake shows at the start.
  authenticate(first, ...others)
  const options = typeof first === 'object' ? first : { strategies: [first, ...others] }
  const place = { app: untyped, service: undefined, group: 'around', label: 'a route' } as const
  untyped.hooks({
    setup: async (_context, next) => {
      await next()
      checkAuthenticate(place, options)
    },
  })
  return async (request, reply) => {
    setPrivate(reply)
    const known = request.feathers['authentication'] as Params['authentication']
    const source = options.service === undefined ? {} : { service: options.service }
    const caller = known ?? (await parseCaller(untyped, [source], request, reply)) ?? undefined
    const { feathers, headers, ip: address } = request
    const params = { ...feathers, headers, address, authentication: caller, provider: 'rest' }
    request.feathers = { ...(await authenticateParams(untyped, params, options)) }
  }
}
