import type { AddressInfo } from 'node:net'
import type { Collection } from 'mongodb'
import type { Params, ServiceOptions } from 'remex'
import { createApp, fastifyApp, NotFound, rest } from 'remex'
import { AuthenticationService, authenticate, JwtStrategy } from 'remex/auth'
import { MongoDBService } from 'remex/mongodb'
import { AUDIENCE, getOwnRecord, ISSUER, SECRET } from './auth-token.ts'
import { getRecord } from './rest-records.ts'

interface RemexOptions {
  readonly hasCache: boolean
  /** The collection of the sessions, which are looked up for each token. Default: there are none. */
  readonly sessions?: Collection
  /** For how long a look is remembered. Default: 0. */
  readonly checkCacheMs?: number
  /** The options of the records. */
  readonly options?: ServiceOptions
}

/** Starts Remex with records for users with a token alone. Returns its port. */
export async function startProtectedRemex({
  hasCache,
  sessions,
  checkCacheMs = 0,
  options = {},
}: RemexOptions): Promise<number> {
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
    ...(sessions && { sessions: { service: 'sessions', checkSession: 'always', checkCacheMs } }),
  })
  authentication.register('jwt', new JwtStrategy())
  app.use('authentication', authentication)
  if (sessions !== undefined) app.use('sessions', new MongoDBService({ Model: sessions }))
  app.use('users', {
    id: 'id',
    async get(id: string) {
      const user = getRecord(id)
      if (user === undefined) throw new NotFound(`No record found for id '${id}'`)
      return user
    },
  })
  const records = {
    async get(id: string, { user }: Params) {
      return getOwnRecord(user, id)
    },
  }
  app.use('records', records, options)
  app.service('records').hooks({ before: { all: [authenticate('jwt')] } })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as AddressInfo).port
}

function ignore(): void {
  // The log of a benchmark would only delay it.
}
