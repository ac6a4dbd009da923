import type { Collection } from 'mongodb'
import t from 'tap'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import type { AuthenticationService } from '../../src/auth/index.ts'
import { hashPassword } from '../../src/auth/index.ts'
import { authentication, createClient } from '../../src/client/index.ts'
import type { Served, Static } from '../../src/core/schema/index.ts'
import { DateSchema, Type } from '../../src/core/schema/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { addAccounts } from '../support/accounts.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope } from '../support/http.ts'

// What is marked as an error of the compiler here is refused by the server, or does not arrive; all else
// compiles, and arrives as its type says.

const User = Type.Object({
  _id: ObjectIdSchema(),
  email: Type.String(),
  password: Type.String(),
  since: DateSchema(),
  nick: Type.Optional(Type.String()),
})
type User = Static<typeof User>

class UserService extends MongoDBService<User, Omit<User, '_id'>> {
  async invite({ to }: { to: string }): Promise<{ to: string; by: string; token: string }> {
    return { to, by: 'Ann', token: 'secret' }
  }
}

const userOptions = {
  methods: ['find', 'get', 'create', 'patch', 'invite'],
  schemas: {
    entity: User,
    result: Type.Omit(User, ['password']),
    create: Type.Omit(User, ['_id', 'since']),
    methods: {
      invite: {
        data: Type.Object({ to: Type.String() }),
        result: Type.Object({ to: Type.String(), by: Type.String() }),
      },
    },
  },
} as const

const loginOptions = {
  methods: ['create'],
  schemas: {
    create: true,
    result: Type.Object({ accessToken: Type.String(), user: userOptions.schemas.result }),
  },
} as const

interface Services {
  users: Served<UserService, typeof userOptions>
  authentication: Served<AuthenticationService, typeof loginOptions>
}

const { empty } = await openDatabase(t)

async function start(t: TestScope) {
  const Model = (await empty('users')) as unknown as Collection<User>
  const app = fastifyApp(createApp<Services>())
  app.configure(rest())
  const service = new UserService({ Model, multi: true, paginate: { default: 5, max: 10 } })
  app.use('users', service, userOptions)
  addAccounts(app, { users: null, strategies: { jwt: undefined }, service: loginOptions })
  app.service('users').hooks({
    before: { create: [({ data }) => [data].flat().map((one) => (one.since = new Date(0)))] },
  })
  const server = await app.listen({ port: 0 })
  t.teardown(() => app.close())
  const { port } = server.address() as { port: number }
  const baseURL = `http://127.0.0.1:${port}`
  const client = createClient<Services>({ baseURL, methods: { users: userOptions.methods } })
  return { app, client, users: client.service('users') }
}

const ANN = { email: 'ann@a.b', password: 'kept' }

t.test('what arrives of a service has the type that its options give', async (t) => {
  const { users } = await start(t)
  const ann = await users.create({ ...ANN, nick: 'A' })
  const since = '1970-01-01T00:00:00.000Z'
  t.strictSame(ann, { _id: ann._id, email: ann.email, since, nick: ann.nick })
  t.equal(ann.since.slice(0, 4), '1970')
  // @ts-expect-error it is not sent
  t.equal(ann.password, undefined)
  const [ben] = await users.create([{ email: 'ben@a.b', password: 'kept' }])
  t.strictSame(ben, { _id: ben?._id, email: 'ben@a.b', since })
  const { total, data } = await users.find({ query: { email: ANN.email, since: new Date(0) } })
  t.strictSame([total, data], [1, [ann]])
  t.strictSame(await users.get(ann._id), ann)
  const { email } = await users.get(ann._id, { query: { $select: ['email'] } })
  t.equal(email, ANN.email)
  t.strictSame(await users.patch(ann._id, { nick: 'B' }), { ...ann, nick: 'B' })
  const [patched] = await users.patch(null, { nick: 'C' }, { query: { email } })
  t.equal(patched?.nick, 'C')
})

t.test('a custom method is there by the list of its options, has its own schemas', async (t) => {
  const { users } = await start(t)
  const invitation = await users.invite({ to: 'ben' })
  t.strictSame(invitation, { to: 'ben', by: invitation.by })
  // @ts-expect-error it is not sent
  t.equal(invitation.token, undefined)
  // @ts-expect-error the schema of the data does not have it
  await t.rejects(users.invite({ to: 'ben', by: 'Eve' }), { name: 'BadRequest' })
})

t.test('what the compiler refuses, the server refuses as well', async (t) => {
  const { users } = await start(t)
  const { _id } = await users.create(ANN)
  // @ts-expect-error not listed
  await t.rejects(users.remove(_id), { name: 'MethodNotAllowed' })
  // @ts-expect-error not listed
  await t.rejects(users.update(_id, ANN), { name: 'MethodNotAllowed' })
  // @ts-expect-error the server sets it
  await t.rejects(users.create({ ...ANN, since: new Date() }), { name: 'BadRequest' })
  // @ts-expect-error it is missing
  await t.rejects(users.create({ email: 'a' }), { name: 'BadRequest' })
  // @ts-expect-error no operator of updates is in the schema
  await t.rejects(users.patch(_id, { $set: { nick: 'a' } }), { name: 'BadRequest' })
  // @ts-expect-error nobody may ask for it
  await t.rejects(users.find({ query: { password: 'kept' } }), { name: 'BadRequest' })
  // @ts-expect-error nobody may ask for it
  await t.rejects(users.get(_id, { query: { $select: ['password'] } }), { name: 'BadRequest' })
})

t.test('the user of a login has the type that the authentication service returns', async (t) => {
  const { app, client } = await start(t)
  client.configure(authentication())
  const data = { ...ANN, since: new Date(0) }
  app.service('users').hooks({ before: { create: [hashPassword('password')] } })
  const { _id } = await app.service('users').create(data)
  const { user } = await client.authenticate({ strategy: 'local', ...ANN })
  t.strictSame(user, { _id: String(_id), email: user.email, since: user.since.slice() })
  // @ts-expect-error it is not sent
  t.equal(user.password, undefined)
})

t.test('within the process, the service is whole', async (t) => {
  const { app } = await start(t)
  const users = app.service('users')
  const { _id, password } = await users.create({ ...ANN, since: new Date(0) })
  t.equal(password, ANN.password)
  t.equal((await users.find({ query: { password } })).total, 1)
  t.equal((await users.remove(_id)).since.getTime(), 0)
  t.equal((await users.invite({ to: 'ben' })).token, 'secret')
})
