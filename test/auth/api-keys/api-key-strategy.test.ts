import t from 'tap'
import { MongoDBListService, MongoDBService } from '../../../src/adapter/index.ts'
import type { AuthenticationService } from '../../../src/auth/index.ts'
import { ApiKeyStrategy, authenticate, requireScope } from '../../../src/auth/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, openapiDocument, rest } from '../../../src/transport/index.ts'
import { addAccounts } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'

const { db } = await openDatabase(t)

interface Given {
  readonly section?: object
  readonly settings?: object
  readonly hasJwt?: boolean
  readonly keys?: object
}

/** Returns an application with API keys. */
function createKeys({ section, settings, hasJwt = true, keys }: Given = {}): FastifyApplication {
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.use('users', new MongoDBListService({ Model: db.collection('users') }) as never)
  app.use(
    'api-keys',
    (keys ?? new MongoDBListService({ Model: db.collection('api-keys') })) as never,
  )
  app.use('notes', { find: async () => [] } as never)
  const others = hasJwt ? { local: undefined } : { local: undefined, jwt: undefined }
  addAccounts(app, {
    users: null,
    strategies: { ...others, 'api-key': new ApiKeyStrategy() },
    settings: {
      authStrategies: ['jwt'],
      parseStrategies: ['jwt', 'api-key'],
      jwt: {},
      'api-key': { service: 'api-keys', prefix: 'acme', scopes: ['notes:read'], ...section },
      ...settings,
    },
  })
  return app
}

t.test('settings that can not work are refused, and named', async (t) => {
  const Model = db.collection('api-keys')
  const wrong: [given: Given, message: RegExp][] = [
    [{ section: { prefix: undefined } }, /requires a 'prefix' setting/],
    [{ section: { service: undefined } }, /requires a 'service' setting/],
    [{ section: { service: 'nowhere' } }, /'nowhere' service .*'authentication\.api-key\.service'/],
    [{ section: { scope: [] } }, /unknown option 'scope' \(did you mean 'scopes'|unknown option/],
    [{ section: { scopes: 'notes:read' } }, /'scopes' must be a list/],
    [{ section: { maxPerUser: 0 } }, /'maxPerUser' must be a whole number/],
    [
      { section: { header: 'Authorization' } },
      /'header' must be the name of a header that nothing else uses/,
    ],
    [{ section: { header: 'x y' } }, /'header' must be/],
    [{ settings: { authStrategies: ['jwt', 'api-key'] } }, /authStrategies' cannot name 'api-key'/],
    [{ settings: { parseStrategies: ['jwt'] } }, /parseStrategies' does not name 'api-key'/],
    [{ hasJwt: false }, /needs a JwtStrategy/],
    [{ keys: { find: async () => [] } }, /must name a MongoDBService whose id is '_id'/],
    [{ keys: new MongoDBService({ Model, id: 'uid' }) }, /whose id is '_id'/],
  ]
  for (const prefix of ['', '7up', 'ac-me', 'acme_', 'a'.repeat(21), 7]) {
    wrong.push([{ section: { prefix } }, /'prefix' must be up to 20 letters/])
  }
  for (const [given, message] of wrong) {
    const start = async () => {
      const app = createKeys(given)
      t.teardown(() => app.close())
      await app.setup()
    }
    await t.rejects(start(), { name: 'TypeError', message }, String(message))
  }
})

t.test('a service keeps the keys of one strategy, and no sessions beside them', async (t) => {
  const refusal = /'api-keys' stores the (sessions|API keys) of another/
  const start = async (
    settings: object,
    collection: string,
    register: (app: FastifyApplication) => unknown = () => undefined,
  ) => {
    const keys = new MongoDBListService({ Model: db.collection(collection) })
    const app = createKeys({ settings, keys })
    t.teardown(() => app.close())
    register(app)
    await app.setup()
  }
  await t.rejects(start({ sessions: { service: 'api-keys' } }, 'sessions'), refusal)
  const second = { parseStrategies: ['jwt', 'api-key', 'other'] }
  const other = { service: 'api-keys', prefix: 'other' }
  const registerOther = (app: FastifyApplication) => {
    const authentication = app.service('authentication') as unknown as AuthenticationService
    authentication.register('other', new ApiKeyStrategy())
  }
  await t.rejects(start({ ...second, other }, 'shared', registerOther), refusal)
})

t.test('the service can not change while the application runs', async (t) => {
  const app = createKeys()
  t.teardown(() => app.close())
  await app.setup()
  const setting = app.get('authentication') as object
  const section = { service: 'users', prefix: 'acme' }
  app.set('authentication', { ...setting, 'api-key': section })
  const { configuration } = app.service('authentication') as unknown as AuthenticationService
  t.match(configuration['api-key'], { service: 'api-keys' }, 'the old one stays in effect')
})

t.test('a hook for a scope that no key can have is refused at the start', async (t) => {
  const startWith = async (scope: string, group = 'before') => {
    const app = createKeys()
    t.teardown(() => app.close())
    app.service('notes').hooks({ [group]: { find: [requireScope(scope)] } } as never)
    await app.setup()
  }
  await t.rejects(startWith('notes:raed'), /'notes:raed'.*no API key.*did you mean 'notes:read'/)
  await t.rejects(startWith('other'), /no API key can have this scope, there are notes:read/)
  await t.rejects(startWith('notes:read', 'after'), /runs too late/)
  await startWith('notes:read')
  t.throws(() => requireScope(''), /needs a scope/)
  t.throws(() => requireScope(7 as never), /needs a scope/)
})

t.test('the document of the API names the header of keys', async (t) => {
  const app = createKeys({ section: { header: 'X-Acme' } })
  t.teardown(() => app.close())
  app.service('notes').hooks({ before: { find: [authenticate('jwt', 'api-key')] } } as never)
  await app.setup()
  const { components, paths } = await openapiDocument(app as never, {
    info: { title: 'Notes', version: '1' },
  })
  t.match(components['securitySchemes'], {
    'api-key': { type: 'apiKey', in: 'header', name: 'X-Acme' },
  })
  t.match(paths['/notes'], { get: { security: [{ bearer: [] }, { 'api-key': [] }] } })
})

t.test('a key names the user of an application without entity, or nobody', async (t) => {
  const app = createKeys({ settings: { entity: null, service: undefined } })
  t.teardown(() => app.close())
  await app.setup()
  const keys = app.service('api-keys') as never as {
    create(data: object): Promise<{ key: string; _id: unknown }>
  }
  const authentication = app.service('authentication') as unknown as AuthenticationService
  const prove = async (apiKey: string) =>
    authentication.authenticate({ strategy: 'api-key', apiKey }, {}, 'api-key')
  const { key, _id } = await keys.create({ name: 'a job' })
  t.strictSame(await prove(key), {
    authentication: { strategy: 'api-key', payload: { scopes: [], keyId: String(_id) } },
  })
  const owned = await keys.create({ name: 'a job', userId: 'u7', scopes: ['notes:read'] })
  t.match(await prove(owned.key), {
    authentication: { payload: { sub: 'u7', scopes: ['notes:read'] } },
  })
})
