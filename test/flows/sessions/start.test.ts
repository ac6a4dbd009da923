import t from 'tap'
import { MongoDBListService } from '../../../src/adapter/index.ts'
import {
  AuthenticationService,
  JwtStrategy,
  LocalStrategy,
  OAuthStrategy,
  oauth,
} from '../../../src/auth/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { createApp, openapiDocument } from '../../../src/transport/index.ts'
import { addAccounts } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import { openApp } from '../../support/own-server.ts'
import { claimsOf, startSessions } from '../../support/session-server.ts'
import { startApp } from '../../support/test-app.ts'

const database = await openDatabase(t)
const { db } = database

t.test('settings that can not work are refused at the start', async (t) => {
  const wrong: [object, RegExp][] = [
    [{ service: 'nowhere' }, /'nowhere' service that 'authentication\.sessions\.service' names/],
    [{ idle: '5m' }, /'authentication\.sessions\.idle' must be longer/],
    [{ accessExpiresIn: '10ms' }, /'authentication\.sessions\.accessExpiresIn' must be at least/],
    [{ checkSession: 'sometimes' }, /checkSession' must be 'always' or 'never'/],
    [{ maxPerUser: 0 }, /maxPerUser' must be a whole number from 1 on/],
    [{ graceSeconds: 10 }, /unknown option 'sessions\.graceSeconds'/],
  ]
  for (const [sessions, message] of wrong)
    await t.rejects(startSessions(t, database, sessions), message)
})

/** Gives an application users, sessions, and an authentication service for each key of settings. */
function addLogins(app: FastifyApplication, keys: Readonly<Record<string, string>>) {
  for (const name of ['users', 'sessions']) {
    app.use(name, new MongoDBListService({ Model: db.collection(name) }) as never)
  }
  for (const [key, service] of Object.entries(keys)) {
    const jwtOptions = { issuer: key, audience: key, expiresIn: '1d' }
    addAccounts(app, {
      key,
      path: key,
      users: null,
      settings: { jwtOptions, sessions: { service } },
    })
  }
  return app
}

t.test('a service keeps the sessions of one authentication service', async (t) => {
  const start = async (own: Readonly<Record<string, string>>, mounted?: string) => {
    const app = openApp(t)
    if (mounted !== undefined) {
      app.use('inner', addLogins(createApp() as FastifyApplication, { logins: mounted }) as never)
    }
    await addLogins(app, own).setup()
    return app
  }
  const refusal = /stores the sessions of another authentication service/
  await t.rejects(start({ authentication: 'sessions', admin: 'sessions' }), refusal)
  await t.rejects(start({ authentication: 'inner/sessions' }, 'sessions'), refusal)
  const app = await start({ authentication: 'sessions' }, 'sessions')
  await app.unuse('authentication')
  const next = new AuthenticationService(app)
  next.register('local', new LocalStrategy()).register('jwt', new JwtStrategy())
  app.use('authentication', next as never)
  await t.rejects(next.setup(), refusal, 'one that has taken the place of another')
})

t.test('a store that cannot rotate by one command is refused, as is no JwtStrategy', async (t) => {
  const startWith = (service: object, hasJwt: boolean) => {
    const app = openApp(t)
    app.use('users', new MongoDBListService({ Model: db.collection('users') }) as never)
    app.use('sessions', service as never)
    const settings = { sessions: { service: 'sessions' } }
    addAccounts(app, { users: null, settings, strategies: hasJwt ? {} : { jwt: undefined } })
    return app.setup()
  }
  const Model = db.collection('sessions')
  const stores = [{ find: async () => [] }, new MongoDBListService({ Model, id: 'uid' })]
  for (const store of stores) await t.rejects(startWith(store, true), /whose id is '_id'/)
  await t.rejects(startWith(new MongoDBListService({ Model }), false), /needs a JwtStrategy/)
})

t.test('services that take the place of others are guarded and watched as well', async (t) => {
  const { logIn, server, refresh, authentication } = await startSessions(t, database)
  const { app } = authentication
  const { refreshToken, ...tokens } = await logIn()
  for (const name of ['sessions', 'users']) {
    await app.unuse(name)
    app.use(name, new MongoDBListService({ Model: db.collection(name) }) as never)
  }
  t.equal((await server.request('/sessions')).status, 401)
  const users = app.service('users') as never as {
    patch(id: string, data: object): Promise<unknown>
  }
  await users.patch(claimsOf({ refreshToken, ...tokens }).sub, { password: 'another one' })
  t.equal((await refresh(refreshToken)).status, 401)
  const setting = app.get('authentication') as object
  app.set('authentication', { ...setting, sessions: { service: 'users' } })
  t.equal(authentication.configuration.sessions?.service, 'sessions', 'the old one stays in effect')
})

t.test('an OAuth login that ends on a page gives it a code, not tokens in its URL', async (t) => {
  const startWith = (response: object = {}) => {
    const github = { key: 'key', secret: 'secret', ...response }
    const settings = {
      authStrategies: ['jwt', 'github'],
      oauth: { redirect: '/', github },
      sessions: { service: 'sessions' },
    }
    return startApp(t, {
      ...{ database, stores: { users: {}, sessions: {} } },
      accounts: { settings, strategies: { local: undefined, github: new OAuthStrategy() } },
      configure: (app) => app.configure(oauth()),
    })
  }
  await t.rejects(startWith(), /'authentication\.oauth\.github\.response' must be 'code'/)
  await startWith({ response: 'code' })
})

t.test('the document of the API has what a refresh sends and gets', async (t) => {
  const { server } = await startSessions(t, database)
  const { components } = await openapiDocument(server.app as never, {
    info: { title: 'Notes', version: '1' },
  })
  const properties = { refreshToken: { type: 'string' } }
  t.match(components['schemas'], {
    AuthenticationCreateData: {
      properties: { ...properties, strategy: { enum: ['jwt', 'local', 'refresh'] } },
    },
    AuthenticationResult: { properties },
  })
})
