import t from 'tap'
import type { OAuthParams, OAuthProfile } from '../../../src/auth/index.ts'
import { OAuthStrategy } from '../../../src/auth/index.ts'
import { proveProfile } from '../../../src/auth/proof.ts'
import type { Params } from '../../../src/core/index.ts'
import { createLoginApp, external, UserService } from '../login-app.ts'

const SECTION = { key: 'id', secret: 'secret' }

/** Logs somebody in whom the provider has confirmed, as the service of the callback does. */
async function start(
  strategy: OAuthStrategy = new OAuthStrategy(),
  users: object = new UserService(),
) {
  const { app, authentication } = createLoginApp({
    ...{ users, settings: { oauth: { github: SECTION } } },
    strategies: { local: undefined, github: strategy },
  })
  await app.setup()
  const logIn = (profile: OAuthProfile, params: Partial<OAuthParams> = {}) =>
    authentication.create(
      { strategy: 'github', profile: proveProfile(profile, 'github') },
      external({ authStrategies: ['github'], ...params }),
    )
  return { app, authentication, logIn }
}

t.test('a number is stored as a string, and one that Feathers has stored is found', async (t) => {
  const users = new UserService()
  await users.create({ id: 7, githubId: 583_231 })
  const { logIn } = await start(undefined, users)
  t.match(await logIn({ id: 583_231 }), { user: { id: 7, githubId: '583231' } })
  t.match(await logIn({ id: 583_231 }), { user: { id: 7 } })
  t.equal(users.users.size, 1)
  users.takeCalls()
  await logIn({ id: 583_231 })
  const queries = users.takeCalls().flatMap(({ method, query }) => (method === 'find' ? query : []))
  t.strictSame(queries, [{ $limit: 1, githubId: '583231' }], 'a plain condition, for any service')
})

t.test('steps call the entity service from inside, with the params they are given', async (t) => {
  const users = new UserService()
  class Found extends OAuthStrategy {
    override async findEntity(_profile: OAuthProfile, params: OAuthParams) {
      await this.entityService?.find({ ...params, query: { email: 'ann@example.com' } })
      return null
    }
    override async createEntity(profile: OAuthProfile, params: OAuthParams) {
      const data = await this.getEntityData(profile, null, params)
      return users.create(data as object, params as Params)
    }
  }
  const { logIn } = await start(new Found(), users)
  await logIn({ id: '1' })
  const calls = users.takeCalls().map(({ method, provider }) => [method, provider])
  t.strictSame(calls, [
    ['find', undefined],
    ['create', undefined],
    ['get', 'rest'],
  ])
})

t.test('halves of characters are no key, in a database they are all alike (OAU-5)', async (t) => {
  const users = new UserService()
  class ByAddress extends OAuthStrategy {
    override async getEntityQuery({ email }: OAuthProfile) {
      return { $or: [{ email }, { emails: email }] }
    }
  }
  const strategy = new ByAddress()
  const others = new UserService()
  const { logIn } = await start(undefined, users)
  const { logIn: logInByAddress } = await start(strategy, others)
  for (const half of ['\ud800', '\udbff', '\udc00']) {
    await t.rejects(logIn({ id: half }), { code: 401 })
    await t.rejects(logInByAddress({ id: 1, email: `${half}@example.com` }), { code: 401 })
    const profile = { email: `${half}@example.com`, email_verified: true }
    t.equal(strategy.getVerifiedEmail(profile), null)
  }
  t.equal(users.users.size + others.users.size, 0)
  t.match(await logIn({ id: '\u{1f600}', name: '\ud800' }), { user: { githubId: '\u{1f600}' } })
})

t.test('a condition without a value finds nobody (OAU-3)', async (t) => {
  const users = new UserService()
  await users.create({ id: 1, name: 'admin' })
  class ByAddress extends OAuthStrategy {
    override async getEntityQuery({ email }: OAuthProfile) {
      return { email }
    }
  }
  const { logIn } = await start(new ByAddress(), users)
  for (const email of [null, undefined]) {
    t.not((await logIn({ id: '2', email }))['user'], undefined)
  }
  t.strictSame(users.users.get('1'), { id: 1, name: 'admin' }, 'who has no address is nobody else')
})

t.test('the first record of a page is found, with or without a total', async (t) => {
  for (const total of [{ total: 1 }, {}]) {
    const patched: unknown[] = []
    const users = {
      id: 'id',
      find: async () => ({ data: [{ id: 5, githubId: '1' }], ...total }),
      get: async (id: unknown) => ({ id }),
      patch: async (id: unknown) => {
        patched.push(id)
        return { id }
      },
    }
    const { logIn } = await start(undefined, users)
    t.match(await logIn({ id: '1' }), { user: { id: 5 } })
    t.strictSame(patched, [5])
  }
})

t.test('records without an id are a fault of the service, and none is changed', async (t) => {
  const users = {
    id: '_id',
    find: async () => [{ githubId: '1' }],
    get: async () => ({}),
    patch: async () => t.fail('nothing is changed'),
  }
  const { logIn } = await start(undefined, users)
  await t.rejects(logIn({ id: '1' }), { code: 500, message: /have no '_id'/ })
})

t.test('an account is not said to be linked where nothing can be stored', async (t) => {
  const users = new UserService()
  await users.create({ id: 1 })
  const readOnly = {
    id: 'id',
    find: users.find.bind(users),
    get: users.get.bind(users),
  }
  const { authentication, logIn } = await start(undefined, readOnly)
  const accessToken = await authentication.createAccessToken({}, { subject: '1' })
  const linking = logIn({ id: '1' }, { authentication: { strategy: 'jwt', accessToken } })
  await t.rejects(linking, { code: 401, message: /no patch/ })
  await t.rejects(logIn({ id: '1' }), { code: 401, message: /You have no account/ })
})
