// The application of examples/testing.ts: users, and their notes.
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { createdBy, limitTo, MongoDBListService, ObjectIdSchema } from 'remex/mongodb'
import { realtime } from 'remex/realtime'
import type { Served, Static } from 'remex/schema'
import { Type } from 'remex/schema'

const User = Type.Object({
  _id: ObjectIdSchema(),
  email: Type.String({ format: 'email' }),
  password: Type.String({ minLength: 12 }),
})
type User = Static<typeof User>
const UserData = Type.Omit(User, ['_id'])

const Note = Type.Object({
  _id: ObjectIdSchema(),
  text: Type.String({ minLength: 1 }),
  ownerId: ObjectIdSchema(),
})
type Note = Static<typeof Note>
const NoteData = Type.Pick(Note, ['text'])

class UserService extends MongoDBListService<User, Static<typeof UserData>> {}
class NoteService extends MongoDBListService<Note, Static<typeof NoteData>> {}

const userOptions = {
  methods: ['create'],
  schemas: { entity: Type.Omit(User, ['password']), create: UserData },
} as const
const noteOptions = {
  methods: ['find', 'get', 'create', 'remove'],
  schemas: { entity: Note, create: NoteData },
} as const

export interface Services {
  users: Served<UserService, typeof userOptions>
  notes: Served<NoteService, typeof noteOptions>
  authentication: AuthenticationService
}

export interface NotesOptions {
  readonly db: Db
  readonly secret: string
  /** The cost of a password hash. Tests choose a low one. */
  readonly scryptCost?: number
  readonly logLevel?: string
}

/** Returns the application, which does not listen yet. */
export function createNotes(options: NotesOptions): FastifyApplication<Services> {
  const { db, secret, scryptCost = 65_536, logLevel = 'info' } = options
  const app = fastifyApp(createApp<Services>(), { logger: { level: logLevel } })
  app.configure(rest())
  app.configure(realtime())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: { expiresIn: '1h' },
    local: {
      usernameField: 'email',
      passwordField: 'password',
      scrypt: { cost: scryptCost },
    },
  })
  const logins = new AuthenticationService(app)
  logins.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', logins)

  app.use('users', new UserService({ Model: db.collection('users') }), userOptions)
  app.service('users').hooks({
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })
  app.use('notes', new NoteService({ Model: db.collection('notes') }), noteOptions)
  app.service('notes').hooks({
    around: { all: [authenticate('jwt')] },
    before: {
      all: [
        limitTo<Note>(({ user }) => ({ ownerId: (user as User)._id })),
        createdBy<Note>({ field: 'ownerId' }),
      ],
    },
  })
  return app
}
