import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type {
  AuthenticationParams,
  AuthenticationResult,
  Entity,
  OAuthProfile,
} from '../../../src/auth/index.ts'
import { AuthenticationBaseStrategy, JwtStrategy, OAuthStrategy } from '../../../src/auth/index.ts'
import { proveProfile } from '../../../src/auth/proof.ts'
import type { AuthenticationRequest } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { addAccounts } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import type { Tokens } from '../../support/session-server.ts'
import { claimsOf } from '../../support/session-server.ts'
import { UserService } from '../../support/users.ts'

const database = await openDatabase(t)
const stored = database.db.collection('sessions')

const ANN = { id: 1, email: 'ann@example.org', password: 'a hash', isActive: true }
const BEN = { id: 2, email: 'ben@example.org', password: 'his hash', githubId: '7' }

/** What a strategy does with the record of a user, and the user that its result has. */
type Prove = (user: Entity, params: AuthenticationParams) => unknown

/** Returns the id of a session, as the collection has it. */
const sidOf = (tokens: Tokens) => claimsOf(tokens).sid as never

/** Notes a record as proven. Returns what the caller is to see of it. */
function note(proven: Entity[] | undefined, record: Entity): Entity {
  proven?.push(record)
  return { id: record['id'] }
}

/** Logs in the user whom a request names; something may happen between the proof and the result. */
class TestStrategy extends AuthenticationBaseStrategy {
  prove: Prove = (user) => user
  meanwhile: () => unknown = () => undefined

  async authenticate(
    { id }: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    const user = (await this.entityService?.get(String(id), {})) as Entity
    const shown = this.prove({ ...user }, params)
    await this.meanwhile()
    return { authentication: { strategy: this.name }, user: shown }
  }
}

/** Starts sessions of users who are in no database. */
async function start(t: Test, jwt = new JwtStrategy()) {
  await database.empty('sessions')
  const app = createApp()
  app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }
  const settings = {
    authStrategies: ['jwt', 'test', 'github'],
    // As `LocalStrategy` has them.
    test: { entityUsernameField: 'email', entityPasswordField: 'password' },
    oauth: { github: { key: 'id', secret: 'secret' } },
    sessions: { service: 'sessions' },
  }
  const [test, github] = [new TestStrategy(), new TestGitHub()]
  const strategies = { local: undefined, jwt, test, github }
  const given = { settings, strategies, users: new UserService() }
  const { users, authentication } = addAccounts(app, given)
  app.use('sessions', new MongoDBService({ Model: stored }) as never)
  await app.setup()
  t.teardown(() => app.teardown())
  const put = async (): Promise<void> => {
    for (const user of [ANN, BEN]) await users.create({ ...user })
  }
  await put()
  const post = async (data: AuthenticationRequest, provider?: string): Promise<Tokens> => {
    const params = provider === undefined ? {} : { provider, query: {}, headers: {} }
    return (await authentication.create(data, params)) as unknown as Tokens
  }
  const logIn = (id: number, provider?: string) => post({ strategy: 'test', id }, provider)
  const refresh = ({ refreshToken }: Tokens, provider?: string) =>
    post({ strategy: 'refresh', refreshToken }, provider)
  return { users, put, test, github, post, logIn, refresh }
}

/** Stores the address of the profile as well. */
class TestGitHub extends OAuthStrategy {
  meanwhile: () => unknown = () => undefined

  override async getEntityData(profile: OAuthProfile) {
    await this.meanwhile()
    return { githubId: String(profile['id']), email: String(profile['email']) }
  }
}

const REFUSED = { code: 401, message: 'The account has changed during the login: log in again' }

t.test('a strategy that notes the record, or returns it, is compared with it', async (t) => {
  const { logIn, users, put, test, refresh } = await start(t)
  const ways: readonly [name: string, prove: Prove][] = [
    ['returned', (user) => user],
    ['noted', ({ id, ...user }, { proven }) => note(proven, { id, ...user })],
    ['a part', ({ id, password }, { proven }) => note(proven, { id, password })],
  ]
  for (const [name, prove] of ways) {
    for (const provider of [undefined, 'rest']) {
      await put()
      Object.assign(test, { prove, meanwhile: () => undefined })
      const tokens = await logIn(1, provider)
      await users.patch(1, { email: 'ann@example.com' })
      await t.rejects(refresh(tokens), { code: 401 }, `${name}: all is stored`)
      await put()
      test.meanwhile = () => users.patch(1, { password: 'a new hash' })
      await t.rejects(logIn(1, provider), REFUSED, name)
      t.equal(await stored.countDocuments(), 0)
    }
  }
})

t.test('a strategy that reads the user anew after its proof is compared to it', async (t) => {
  const jwt = new JwtStrategy()
  const { logIn, users, put, test, refresh } = await start(t, jwt)
  const authenticate = test.authenticate.bind(test)
  test.prove = (user, { proven }) => note(proven, user)
  test.authenticate = async (request, params) => {
    const { user, ...result } = await authenticate(request, params)
    const { id } = user as { id: unknown }
    return { ...result, user: await jwt.getEntity(String(id), params) }
  }
  for (const provider of [undefined, 'rest']) {
    test.meanwhile = () => undefined
    await refresh(await logIn(1, provider))
    test.meanwhile = () => users.patch(1, { password: 'a new hash' })
    await t.rejects(logIn(1, provider), { code: 401 })
    await put()
  }
  // As one user who acts for another, whose record is the first of its own.
  test.meanwhile = () => undefined
  test.prove = (user, { proven }) => ({ ...note(proven, { ...BEN }), ...user })
  await refresh(await logIn(1))
})

t.test('a strategy that says nothing begins sessions of the user as it is then', async (t) => {
  const { logIn, users, put, test, refresh } = await start(t)
  test.prove = ({ id, email }) => ({ id, email: `${String(email).slice(0, 1)}***` })
  const tokens = await logIn(1)
  const next = await refresh(tokens, 'rest')
  await users.patch(1, { password: 'a new hash' })
  await t.rejects(refresh(next), { code: 401 })
  await put()
  // As one user who acts for another.
  test.prove = ({ id }, { proven }) => {
    note(proven, { ...BEN, password: 'of somebody else' })
    return { id }
  }
  await refresh(await logIn(1))
})

t.test('a strategy for access tokens that notes nothing has the user read once more', async (t) => {
  class Quiet extends JwtStrategy {
    override async getEntity(id: string) {
      return { id, name: 'Ann' }
    }
  }
  for (const [jwt, internal, external] of [
    [new JwtStrategy(), 1, 2],
    [new Quiet(), 1, 1],
  ] as const) {
    const { logIn, users, refresh } = await start(t, jwt)
    const tokens = await logIn(1)
    users.takeCalls()
    const next = await refresh(tokens)
    t.equal(users.takeCalls().length, internal)
    const last = await refresh(next, 'rest')
    t.equal(users.takeCalls().length, external)
    await users.patch(1, { password: 'a new hash' })
    await t.rejects(refresh(last), { code: 401 })
  }
})

t.test('a refresh that has read its user too early reads anew, and ends nothing', async (t) => {
  const { logIn, users, refresh } = await start(t)
  const tokens = await logIn(1)
  const { get } = users
  let reads = 0
  users.get = async (...args) => {
    const user = await get.apply(users, args)
    reads += 1
    if (reads > 1) return user
    // What the session does that changes its own password, behind the first read.
    users.users.set('1', { ...ANN, password: 'a new hash' })
    const other = await logIn(1)
    const [{ marks } = { marks: null }] = await stored.find({ _id: sidOf(other) }).toArray()
    await stored.updateOne({ _id: sidOf(tokens) }, { $set: { marks } })
    return user
  }
  t.match(await refresh(tokens), { user: { id: 1 } })
  t.equal(await stored.countDocuments(), 2)
})

t.test('a login by OAuth is compared, but for what it stores itself', async (t) => {
  const { post, github, users, put, refresh } = await start(t)
  const profile = proveProfile({ id: 7, email: 'ben@example.com' }, 'github')
  const logIn = () => post({ strategy: 'github', profile })
  t.match(await refresh(await logIn()), { user: { id: 2, email: 'ben@example.com' } })
  await put()
  github.meanwhile = () => users.patch(2, { isActive: false })
  await t.rejects(logIn(), REFUSED, 'barred before the account was updated')
  github.meanwhile = () => undefined
  await users.patch(2, { isActive: true })
  const fresh = proveProfile({ id: 8, email: 'eve@example.org' }, 'github')
  const tokens = await refresh(await post({ strategy: 'github', profile: fresh }))
  const eve = [...users.users.values()].find(({ githubId }) => githubId === '8')
  await users.patch(eve?.id ?? 0, { password: 'her first hash' })
  await t.rejects(refresh(tokens), { code: 401 })
})

t.test('sessions of nobody depend on no user', async (t) => {
  await database.empty('sessions')
  const app = createApp()
  app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }
  const { authentication } = addAccounts(app, {
    users: null,
    settings: { entity: null, authStrategies: ['test'], sessions: { service: 'sessions' } },
    strategies: {
      ...{ jwt: undefined, local: undefined },
      test: { authenticate: async () => ({ authentication: { strategy: 'test' } }) },
    },
  })
  app.use('sessions', new MongoDBService({ Model: stored }) as never)
  await app.setup()
  t.teardown(() => app.teardown())
  const { refreshToken } = (await authentication.create({ strategy: 'test' })) as never as Tokens
  t.match(await stored.findOne(), { marks: {} })
  await authentication.create({ strategy: 'refresh', refreshToken })
  t.equal(await stored.countDocuments(), 1)
})
