import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import type { Document } from 'mongodb'
import t from 'tap'
import { authenticate } from '../../src/auth/index.ts'
import type { Params } from '../../src/transport/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'
import type { Mode, TestScope } from '../support/http.ts'
import { MODES } from '../support/http.ts'
import { startApp } from '../support/test-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401, message: 'Not authenticated' }
const STORAGE_KEY = 'feathers-jwt'

/** What the server knew in the last call of the service `dummy`. */
let seen: Params = {}

/** A server with one user, and a client that nobody has logged in with. */
async function start(t: TestScope, mode: Mode, database: TestDatabase) {
  const dummy = {
    async find(params: Params) {
      seen = params
      return { provider: params.provider }
    },
  }
  const server = await startApp(t, {
    ...{ mode, database, services: { dummy } },
    accounts: { settings: { revocation: true } },
    stores: { users: { paginate: { default: 10, max: 50 }, hidden: ['password'] } },
    hooks: { dummy: { before: { all: [authenticate('jwt')] } } },
  })
  const user = (await server.signUp()).body as Document
  return { server, user, ...connect(server.url) }
}

function connect(url: string, storage: MemoryStorage = new MemoryStorage()) {
  const client = feathers()
  client.configure(restClient.default(url).fetch(fetch))
  client.configure(authenticationClient.default({ storage }))
  return { client, storage }
}

t.test('the official authentication client', async (t) => {
  const database = await openDatabase(t)
  for (const mode of MODES) {
    await t.test(`logs in, ${mode}`, async (t) => {
      const { client, storage, user } = await start(t, mode, database)
      const events: unknown[] = []
      client.on('login', (result) => events.push(result))
      const result = await client.authenticate(CREDENTIALS)
      t.equal(result.authentication.strategy, 'local')
      t.match(result.authentication.payload, { sub: String(user['_id']), iss: 'feathers' })
      t.strictSame(result['user'], { _id: String(user['_id']), email: CREDENTIALS.email })
      t.equal(await storage.getItem(STORAGE_KEY), result.accessToken)
      t.strictSame(events, [result])
      t.equal(await client.get('authentication'), result)
    })

    await t.test(`is told of a wrong password, and forgets its state, ${mode}`, async (t) => {
      const { client, storage } = await start(t, mode, database)
      await client.authenticate(CREDENTIALS)
      const wrong = { ...CREDENTIALS, password: 'wrong horse' }
      await t.rejects(client.authenticate(wrong), { ...REFUSED, message: 'Invalid login' })
      t.equal(client.get('authentication'), null)
      t.equal(client.authentication.authenticated, false)
      t.notOk(await storage.getItem(STORAGE_KEY))
    })

    await t.test(`gets to a protected service after the login only, ${mode}`, async (t) => {
      const { client, user } = await start(t, mode, database)
      await t.rejects(client.service('dummy').find(), REFUSED)
      const { accessToken } = await client.authenticate(CREDENTIALS)
      t.strictSame(await client.service('dummy').find(), { provider: 'rest' })
      t.match(seen, {
        provider: 'rest',
        authentication: {
          strategy: 'jwt',
          accessToken,
          payload: { sub: String(user['_id']), jti: String },
        },
        user: { email: CREDENTIALS.email, password: /^\$scrypt\$/ },
      })
    })

    await t.test(`comes back with the token that it has stored, ${mode}`, async (t) => {
      const { client, server, storage, user } = await start(t, mode, database)
      const { accessToken } = await client.authenticate(CREDENTIALS)
      const { client: later } = connect(server.url, storage)
      const result = await later.reAuthenticate()
      t.equal(result.authentication.strategy, 'jwt')
      t.equal(result.accessToken, accessToken)
      t.strictSame(result['user'], { _id: String(user['_id']), email: CREDENTIALS.email })
      t.strictSame(await later.service('dummy').find(), { provider: 'rest' })
      const { client: stranger } = connect(server.url)
      await t.rejects(stranger.reAuthenticate(), { message: 'No accessToken found in storage' })
    })

    await t.test(`logs out, ${mode}`, async (t) => {
      const { client, server, storage, user } = await start(t, mode, database)
      const { accessToken } = await client.authenticate(CREDENTIALS)
      const result = await client.logout()
      t.equal(result?.accessToken, accessToken)
      t.strictSame(result?.['user'], { _id: String(user['_id']), email: CREDENTIALS.email })
      t.notOk(await storage.getItem(STORAGE_KEY))
      t.equal(client.get('authentication'), null)
      await t.rejects(client.service('dummy').find(), REFUSED)
      t.equal(await client.logout(), null, 'a second time nobody is there to log out')
      const headers = { authorization: `Bearer ${accessToken}` }
      const { status, body } = await server.request('/dummy', { headers })
      t.equal(status, 401, 'the token is worth nothing any more (JWT-19)')
      t.match(body, { message: 'jwt was revoked' })
    })

    await t.test(`is turned away once its user is deleted, ${mode} (JWT-19)`, async (t) => {
      const { client, server, storage, user } = await start(t, mode, database)
      await client.authenticate(CREDENTIALS)
      await server.app.service('users').remove(user['_id'])
      const message = 'The user of the token does not exist'
      await t.rejects(client.service('dummy').find(), { ...REFUSED, message })
      await t.rejects(client.reAuthenticate(true), { ...REFUSED, message })
      t.notOk(await storage.getItem(STORAGE_KEY))
      t.equal(client.get('authentication'), null)
      await t.rejects(client.authenticate(CREDENTIALS), { ...REFUSED, message: 'Invalid login' })
    })
  }
})
