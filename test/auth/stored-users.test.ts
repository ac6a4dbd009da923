import bcrypt from 'bcryptjs'
import type { Collection, Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import {
  authenticate,
  CollectionRevocationList,
  CollectionThrottleStore,
  hashPassword,
  protect,
} from '../../src/auth/index.ts'
import type { Params } from '../../src/core/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'
import { LOCAL } from '../support/users.ts'
import { CREDENTIALS, createLoginApp, external, forge } from './login-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401 }

async function start({ db, empty }: TestDatabase) {
  const users = await empty('users')
  const revoked = await empty('revoked')
  const counters = await empty('counters')
  const { app, authentication } = createLoginApp({
    users: new MongoDBService({ Model: users as Collection<Document>, hidden: ['password'] }),
    settings: {
      revocation: new CollectionRevocationList(db.collection<{ _id: string }>('revoked')),
      loginThrottle: {
        maxAttempts: 3,
        // Windows of a collection begin with the clock: none is to end during the test, and the first
        // of so many seconds ends in the year 2286.
        windowSeconds: 10_000_000_000,
        store: new CollectionThrottleStore(db.collection<{ _id: string }>('counters')),
      },
    },
  })
  app.service('users').hooks({
    before: { create: [hashPassword('password')], patch: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })
  app.use('echo', { get: async (_id: unknown, params: Params) => params })
  app.service('echo').hooks({ before: { all: [authenticate('jwt')] } })
  await app.setup()
  const { email, password } = CREDENTIALS
  await app.service('users').create({ email, password })
  return { app, authentication, users, revoked, counters }
}

t.test('users in a collection', async (t) => {
  const database = await openDatabase(t)
  const namesOf = async (run: () => Promise<unknown>) =>
    (await database.commandsOf(run)).map((command) => Object.keys(command)[0])

  await t.test('log in by one command and one for their view, which has no password', async (t) => {
    const { authentication, app } = await start(database)
    app.set('authentication', { ...authentication.configuration, loginThrottle: false })
    let result: unknown
    const commands = await namesOf(async () => {
      result = await app.service('authentication').create(CREDENTIALS, external())
    })
    t.strictSame(commands, ['find', 'find'])
    const { user, accessToken } = result as { user: Document; accessToken: string }
    t.strictSame(Object.keys(user), ['_id', 'email'])
    const { sub } = await authentication.verifyAccessToken(accessToken)
    t.equal(sub, String(user['_id']))
  })

  await t.test('operators in a login send no command (INJ-17)', async (t) => {
    const { app } = await start(database)
    app.set('authentication', { ...(app.get('authentication') as object), loginThrottle: false })
    const commands = await namesOf(async () => {
      for (const value of [{ $ne: null }, { $gt: '' }, ['x'], 1, null]) {
        for (const field of ['email', 'password']) {
          const data = { ...CREDENTIALS, [field]: value }
          await t.rejects(app.service('authentication').create(data, external()), REFUSED)
        }
      }
    })
    t.strictSame(commands, [])
  })

  await t.test('are looked up once for a call with a token', async (t) => {
    const { app, authentication, users } = await start(database)
    app.set('authentication', { ...authentication.configuration, revocation: false })
    const user = await users.findOne({})
    const accessToken = await forge({ claims: { sub: String(user?._id) } })
    const params = external({ authentication: { strategy: 'jwt', accessToken } })
    let seen: unknown
    const commands = await namesOf(async () => {
      seen = await app.service('echo').get(1, params)
    })
    t.strictSame(commands, ['find'])
    t.match(seen, { user: { email: CREDENTIALS.email }, provider: 'rest' })
    for (const sub of [String(new ObjectId()), 'no object id', '{"$ne":null}']) {
      const other = await forge({ claims: { sub } })
      const authentication = { strategy: 'jwt', accessToken: other }
      const refused = app.service('echo').get(1, external({ authentication }))
      await t.rejects(refused, REFUSED, sub)
    }
  })

  await t.test('get a new hash in the place of one by bcrypt', async (t) => {
    const { app, users } = await start(database)
    const password = await bcrypt.hash(CREDENTIALS.password, 4)
    await users.updateOne({}, { $set: { password } })
    await app.service('authentication').create(CREDENTIALS, external())
    t.match((await users.findOne({}))?.['password'], /^\$scrypt\$ln=10/)
    await t.resolves(app.service('authentication').create(CREDENTIALS, external()))
  })

  await t.test('get a new hash in a nested field, beside what is stored there', async (t) => {
    const { app, users } = await start(database)
    const local = { ...LOCAL, entityPasswordField: 'auth.hash' }
    app.set('authentication', { ...(app.get('authentication') as object), local })
    app.service('users').hooks({
      after: {
        find: (context) => {
          const found = [context.result].flat() as { auth: object }[]
          context.result = found.map((user) => ({ ...user, auth: { ...user.auth, shown: true } }))
        },
      },
    })
    const hash = await bcrypt.hash(CREDENTIALS.password, 4)
    await users.updateOne({}, { $set: { auth: { hash, resetToken: 'x' } } })
    await app.service('authentication').create(CREDENTIALS, external())
    const stored = (await users.findOne({}))?.['auth']
    t.match(stored, { hash: /^\$scrypt\$ln=10/, resetToken: 'x' })
    t.strictSame(Object.keys(stored), ['hash', 'resetToken'], 'nothing that a hook has added')
  })

  await t.test('stay logged out, as the collection says (JWT-19)', async (t) => {
    const { app, revoked } = await start(database)
    const login = await app.service('authentication').create(CREDENTIALS, external())
    const { accessToken } = login as { accessToken: string }
    const authentication = { strategy: 'jwt', accessToken }
    await t.resolves(app.service('echo').get(1, external({ authentication })))
    await app.service('authentication').remove(null, external({ authentication }))
    await t.rejects(app.service('echo').get(1, external({ authentication })), REFUSED)
    t.match(await revoked.findOne({}), { _id: String, expiresAt: Date })
  })

  await t.test('are protected by counters that all processes share (RES-17)', async (t) => {
    const { app, counters } = await start(database)
    const wrong = { ...CREDENTIALS, password: 'wrong horse' }
    const params = external({ address: '192.0.2.1' })
    const service = app.service('authentication')
    for (let index = 0; index < 3; index += 1)
      await t.rejects(service.create(wrong, params), REFUSED)
    await t.rejects(service.create(wrong, params), { code: 429 })
    t.equal(await counters.countDocuments({}), 3, 'the address, the name and the user')
  })
})
