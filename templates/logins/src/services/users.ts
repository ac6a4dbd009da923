import { randomBytes } from 'node:crypto'
import type { Db, ObjectId } from 'mongodb'
import type { HookContext, Params } from 'remex'
import { NotAuthenticated } from 'remex'
import type { ServedSessions, SessionRecord } from 'remex/auth'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
} from 'remex/auth'
import { limitTo, MongoDBListService, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Served, Static } from 'remex/schema'
import { resolve, resolveData, Type } from 'remex/schema'
import type { Api } from '../api.ts'

/** What is stored: the address in lower case, the password as its hash. */
const User = Type.Object({
  _id: ObjectIdSchema(),
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
    sessions: ServedSessions<MongoDBService<SessionRecord>>
    users: Served<UserService, typeof userOptions>
  }
}

// The type of `params.user` in all services and hooks.
declare module 'remex' {
  interface DeclaredTypes {
    user: User
  }
}

export interface LoginOptions {
  /** Signs tokens, at least 32 bytes. Default: a new one, so that a restart ends all logins. */
  readonly secret?: string | undefined
}

/** Adds users who sign up by `POST /users`, and log in by `POST /authentication`. */
export function addUsers(app: Api, db: Db, { secret = createSecret() }: LoginOptions): void {
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: { audience: 'my-app', issuer: 'my-app' },
    local: { usernameField: 'email', passwordField: 'password' },
    // An access token expires after ten minutes; the client refreshes it while the session lasts.
    sessions: { service: 'sessions' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.service('authentication').hooks({ before: { create: [resolveData(lowerEmail)] } })

  const sessions = new MongoDBService<SessionRecord>({
    Model: db.collection('sessions'),
    paginate: { default: 20 },
  })
  app.use('sessions', sessions, { methods: ['find', 'get', 'remove'] })

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
  })
}

/** Requires a login: after it, `params.user` is set. */
export const requireLogin = authenticate('jwt')

/** Limits users to their own records; other users' records return 404. */
export const onlyOwn = limitTo<{ ownerId: ObjectId }>((params) => ({ ownerId: userOf(params)._id }))

/** @throws {NotAuthenticated} no user is logged in: `requireLogin` must run before */
export function userOf({ user }: Params): User {
  if (user === undefined) throw new NotAuthenticated('Not authenticated')
  return user
}

const onlyOneself = limitTo<User>((params) => ({ _id: userOf(params)._id }))

/** `Ann@example.org` and `ann@example.org` are one account. */
const lowerEmail = resolve<{ email?: unknown }, HookContext>({
  email: (email) => (typeof email === 'string' ? email.toLowerCase() : email),
})

function createSecret(): string {
  return randomBytes(32).toString('base64')
}
