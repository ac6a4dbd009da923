import type { AddressInfo } from 'node:net'
import type { Params } from 'remex'
import { createApp, fastifyApp, NotFound, rest } from 'remex'
import { AuthenticationService, authenticate, JwtStrategy } from 'remex/auth'
import { AUDIENCE, getOwnRecord, ISSUER, SECRET } from './auth-token.ts'
import { getRecord } from './rest-records.ts'

/** Starts Remex with records for users with a token alone. Returns its port. */
export async function startProtectedRemex({ hasCache }: { hasCache: boolean }): Promise<number> {
  const app = fastifyApp(createApp())
  // Tokens are refused here on purpose.
  app.logger = { error: ignore, warn: ignore, info: ignore }
  app.configure(rest())
  const authentication = new AuthenticationService(app, 'authentication', {
    secret: SECRET,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt'],
    jwtOptions: { audience: AUDIENCE, issuer: ISSUER, ...(hasCache ? {} : { cacheSize: 0 }) },
  })
  authentication.register('jwt', new JwtStrategy())
  app.use('authentication', authentication)
  app.use('users', {
    id: 'id',
    async get(id: string) {
      const user = getRecord(id)
      if (user === undefined) throw new NotFound(`No record found for id '${id}'`)
      return user
    },
  })
  app.use('records', {
    async get(id: string, { user }: Params) {
      return getOwnRecord(user, id)
    },
  })
  app.service('records').hooks({ before: { all: [authenticate('jwt')] } })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as AddressInfo).port
}

function ignore(): void {
  // The log of a benchmark would only delay it.
}
