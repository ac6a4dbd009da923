import { randomBytes } from 'node:crypto'
import type { Db, ObjectId } from 'mongodb'
import type { HookContext, Params } from 'remex'
import { NotAuthenticated } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { MongoDBListService, ObjectIdSchema } from 'remex/mongodb'
import type { Served, Static } from 'remex/schema'
import { resolve, resolveData, Type } from 'remex/schema'
import type { Api } from '../api.ts'

/** What is stored: the address in lower case, the password as its hash. */
const User = Type.Object({
  _id: Type.Unsafe<ObjectId>(ObjectIdSchema()),
  email: Type.String({ format: 'email', maxLength: 254 }),
  password: Type.String({ minLength: 12, maxLength: 1_000 }),
})
export type User = Static<typeof User>

/** What callers send to sign up. Other fields, such as `role`, are rejected. */
const UserData = Type.Omit(User, ['_id'])

class UserService extends MongoDBListService<User, Static<typeof UserData>> {}

const userOptions = {
  methods: ['get', 'create'],
  schemas: { entity: Type.Omit(User, ['password']), create: UserData },
} as const

declare module '../api.ts' {
  interface Services {
    authentication: AuthenticationService
    users: Served<UserService, typeof userOptions>
  }
}

// The type of `params.user` in all services and hooks.
declare module 'remex' {
  interface DeclaredTypes {
    user: User
  }
}

/** Adds users who sign up by `POST /users`, and log in by `POST /authentication`. */
export function addUsers(app: Api, db: Db): void {
  app.set('authentication', {
    secret: readSecret('AUTH_SECRET', randomBytes(32).toString('base64')),
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: { audience: 'my-app', issuer: 'my-app', expiresIn: '1d' },
    local: { usernameField: 'email', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.service('authentication').hooks({ before: { create: [resolveData(lowerEmail)] } })

  const users = new UserService({
    Model: db.collection('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, userOptions)
  app.service('users').hooks({
    before: {
      get: [requireLogin, onlyOneself],
      create: [resolveData(lowerEmail), hashPassword('password')],
    },
    after: { all: [protect('password')] },
  })
}

/** Requires a login: after it, `params.user` is set. */
export const requireLogin = authenticate('jwt')

/** Limits users to their own records; other users' records return 404. */
export function onlyOwn({ params }: { params: Params }): void {
  if (params.provider) params.query = { ...params.query, ownerId: userOf(params)._id }
}

/** @throws {NotAuthenticated} no user is logged in: `requireLogin` must run before */
export function userOf({ user }: Params): User {
  if (user === undefined) throw new NotAuthenticated('Not authenticated')
  return user
}

function onlyOneself({ params }: { params: Params }): void {
  if (params.provider) params.query = { ...params.query, _id: userOf(params)._id }
}

/** `Ann@example.org` and `ann@example.org` are one account. */
const lowerEmail = resolve<{ email?: unknown }, HookContext>({
  email: (email) => (typeof email === 'string' ? email.toLowerCase() : email),
})

/** Returns a variable of the environment, which must be set in production. */
function readSecret(name: string, otherwise: string): string {
  const value = process.env[name]
  if (!value && process.env['NODE_ENV'] === 'production') throw new Error(`${name} is not set`)
  return value || otherwise
}
