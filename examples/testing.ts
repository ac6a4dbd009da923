// An application and its tests, which docs/guides/testing.md explains. The tests run on an embedded database
// in memory, and the program ends with them. `npx tsx node_modules/remex/examples/testing.ts`.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { after, test } from 'node:test'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, NotAuthenticated, NotFound, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { authentication, createClient } from 'remex/client'
import { realtime as liveQueries } from 'remex/client/realtime'
import { startEmbeddedMongo } from 'remex/embedded'
import {
  connectMongoDB,
  createdBy,
  limitTo,
  MongoDBListService,
  ObjectIdSchema,
} from 'remex/mongodb'
import { realtime } from 'remex/realtime'
import type { Served, Static } from 'remex/schema'
import { Type } from 'remex/schema'

// The application. In a project, it has files of its own, and the tests import `createNotes`.

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

interface Services {
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

// The tests.

// One database server for all tests of this file.
const server = await startEmbeddedMongo()
const mongo = await connectMongoDB(server.url)
after(async () => {
  await mongo.close()
  await server.close()
})

/** Starts the application on a free port, with an empty database. */
async function startNotes(t: TestContext) {
  const db = mongo.db(`test-${randomUUID()}`)
  const app = createNotes({
    db,
    secret: randomBytes(32).toString('base64'),
    scryptCost: 1024,
    logLevel: 'error',
  })
  t.after(async () => {
    await app.close()
    await db.dropDatabase()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = app.fastify.listeningOrigin

  /** Resolves to the client of a new user, who is logged in. */
  async function signUp(name: string) {
    const client = createClient<Services>({ baseURL: url })
    client.configure(authentication()).configure(liveQueries())
    const email = `${name}@example.org`
    const password = 'correct horse battery'
    await client.service('users').create({ email, password })
    const login = { strategy: 'local', email, password }
    const { accessToken } = await client.authenticate(login)
    return Object.assign(client, { accessToken })
  }
  return { app, db, url, signUp }
}

test('users read only their own notes', async (t) => {
  const { signUp } = await startNotes(t)
  const ann = await signUp('ann')
  const bob = await signUp('bob')
  const { _id } = await ann.service('notes').create({ text: 'Hello' })
  assert.equal((await ann.service('notes').get(_id)).text, 'Hello')
  await assert.rejects(bob.service('notes').get(_id), NotFound)
})

test('a note without text returns 400', async (t) => {
  const { url, signUp } = await startNotes(t)
  const { accessToken } = await signUp('ann')
  const response = await fetch(`${url}/notes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${accessToken}`,
      'content-type': 'application/json',
    },
    body: '{"text":""}',
  })
  assert.equal(response.status, 400)
})

test('guests get 401', async (t) => {
  const { app } = await startNotes(t)
  const { statusCode } = await app.fastify.inject({ url: '/notes' })
  assert.equal(statusCode, 401)
})

test('a note belongs to its author', async (t) => {
  const { app } = await startNotes(t)
  const user = await app.service('users').create({
    email: 'ann@example.org',
    password: 'correct horse battery',
  })
  const note = await app.service('notes').create({ text: 'Hello' }, { user })
  assert.deepEqual(note.ownerId, user._id)
})

test('a login ends after an hour', async (t) => {
  const { signUp } = await startNotes(t)
  const notes = (await signUp('ann')).service('notes')
  await notes.find()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_601_000 })
  await assert.rejects(notes.find(), NotAuthenticated)
})

test('a live list shows own notes and no others', async (t) => {
  const { signUp } = await startNotes(t)
  const ann = (await signUp('ann')).service('notes')
  const bob = (await signUp('bob')).service('notes')
  const list = await ann.live()
  const isChanged = new Promise((resolve) => list.on('change', resolve))
  await bob.create({ text: 'From Bob' })
  await ann.create({ text: 'From Ann' })
  await isChanged
  assert.deepEqual(
    list.data.map(({ text }) => text),
    ['From Ann'],
  )
  list.close()
})
