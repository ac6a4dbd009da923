import type { Db } from 'mongodb'
import type { AroundHook, Params } from 'remex'
import { NotAuthenticated } from 'remex'
import type { SessionRecord } from 'remex/auth'
import { AuthenticationService, authenticate, JwtStrategy, LocalStrategy } from 'remex/auth'
import { MongoDBService } from 'remex/mongodb'
import { resolveData } from 'remex/schema'
import type { Blog } from './app.ts'
import { lowerEmail } from './fields.ts'
import type { User } from './services/users.ts'

// Declares the type of `params.user` once, for all services, hooks and routes.
declare module 'remex' {
  interface DeclaredTypes {
    user: User
  }
}

export function addAuthentication(
  app: Blog,
  db: Db,
  { secret, scryptCost }: { readonly secret: string; readonly scryptCost: number },
): void {
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: { audience: 'blog', issuer: 'blog' },
    local: {
      usernameField: 'email',
      passwordField: 'password',
      scrypt: { cost: scryptCost },
    },
    sessions: { service: 'sessions' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.service('authentication').hooks({ before: { create: [resolveData(lowerEmail)] } })
  // Members can see and end only their own logins.
  const Model = db.collection<SessionRecord>('sessions')
  const sessions = new MongoDBService({ Model, paginate: { default: 20 } })
  app.use('sessions', sessions, { methods: ['find', 'get', 'remove'] })
}

/** Lets only logged-in callers pass. Later hooks find `params.user`. */
export const requireLogin = authenticate('jwt')

/** Guests pass. A valid token sets `params.user`; a bad one returns 401. */
export const allowLogin: AroundHook = (context, next) => {
  const { authentication } = context.params
  return authentication === undefined ? next() : requireLogin(context, next)
}

/**
 * Returns the user who makes the call.
 * @throws {NotAuthenticated} the caller is not logged in
 */
export function userOf(params: Pick<Params, 'user'>): User {
  if (params.user === undefined) throw new NotAuthenticated('Not authenticated')
  return params.user
}
