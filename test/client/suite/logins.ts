import { CREDENTIALS } from '../../support/users.ts'
import { findClosedPort } from '../closed-port.ts'
import { errorOf } from '../error-of.ts'
import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

const STORAGE_KEY = 'feathers-jwt'
const ANONYMOUS = { name: 'NotAuthenticated', code: 401, message: 'Not authenticated' }
const USER = { strategy: 'jwt', sub: '1', email: CREDENTIALS.email }

/** Returns an application that nobody has logged in with, unless the storage has a token. */
function createLoginApp({ url, client }: Cell, storage = new Map<string, string>()) {
  const app = client.createApp().configure(client.connect(url))
  const events: [name: string, value: unknown][] = []
  const loginApp = client.addAuthentication(app, {
    getItem: async (key) => storage.get(key) ?? null,
    setItem: async (key, value) => void storage.set(key, value),
    removeItem: async (key) => void storage.delete(key),
  })
  for (const name of ['login', 'logout', 'authenticated']) {
    loginApp.on(name, (value) => events.push([name, value]))
  }
  const findMember = (params?: object) => loginApp.service('members').find(params)
  return { app: loginApp, storage, events, findMember }
}

/** The authentication client. */
export function testLogins(t: Cases, cell: Cell): void {
  const { expected } = cell
  const member = { provider: expected.provider, ...USER }

  t.test('nobody is logged in at first', async (t) => {
    const { app, findMember } = createLoginApp(cell)
    sameNamed(t, await outcomeOf(() => findMember()), { error: ANONYMOUS })
    sameNamed(t, await outcomeOf(() => app.reAuthenticate()), {
      error: { name: 'NotAuthenticated', code: 401, message: 'No accessToken found in storage' },
    })
    sameNamed(t, app.get('authentication'), null)
  })

  t.test('a login resolves to token, strategy and user, is kept and is told of', async (t) => {
    const { app, storage, events } = createLoginApp(cell)
    const result = await app.authenticate(CREDENTIALS)
    sameNamed(t, result, {
      accessToken: String,
      authentication: { strategy: 'local', payload: { sub: '1' } },
      user: { email: CREDENTIALS.email, password: undefined },
    })
    t.equal(storage.get(STORAGE_KEY), result.accessToken)
    t.equal(await app.get('storage').getItem(STORAGE_KEY), result.accessToken)
    t.equal(app.authentication.authenticated, true)
    t.strictSame(events, [
      ['login', result],
      ['authenticated', result],
    ])
    t.equal(await app.get('authentication'), result)
  })

  t.test('calls are those of the user from then on', async (t) => {
    const { app, findMember } = createLoginApp(cell)
    const seen: unknown[] = []
    app.service('members').hooks({
      before: {
        find: ({ params }: { params: { user?: { email: string } } }) =>
          void seen.push(params.user?.email),
      },
    })
    await app.authenticate(CREDENTIALS)
    t.strictSame(await findMember(), member)
    t.strictSame(seen, [expected.userInHooks])
  })

  t.test('calls wait for the login that goes on', async (t) => {
    const { app, findMember } = createLoginApp(cell)
    const login = app.authenticate(CREDENTIALS)
    t.strictSame(await findMember(), member)
    await login
  })

  t.test('the header of a call wins, and its refusal ends no login', async (t) => {
    const { app, storage, findMember } = createLoginApp(cell)
    const { accessToken } = await app.authenticate(CREDENTIALS)
    const headers = { Authorization: 'Bearer nonsense' }
    sameNamed(t, await outcomeOf(() => findMember({ headers })), { error: { code: 401 } })
    t.equal(storage.get(STORAGE_KEY), accessToken)
    t.strictSame(await findMember(), member)
  })

  t.test('a wrong password is told of, and ends the login that was there', async (t) => {
    const { app, storage, findMember } = createLoginApp(cell)
    await app.authenticate(CREDENTIALS)
    const wrong = { ...CREDENTIALS, password: 'wrong horse' }
    const error = { name: 'NotAuthenticated', code: 401, message: 'Invalid login' }
    sameNamed(t, await outcomeOf(() => app.authenticate(wrong)), { error })
    t.equal(await app.get('authentication'), null)
    t.notOk(storage.get(STORAGE_KEY))
    const later = expected.staysAfterFailedLogin ? { result: member } : { error: ANONYMOUS }
    sameNamed(t, await outcomeOf(() => findMember()), later)
  })

  t.test('logs in by the token that was kept, once unless it is forced to', async (t) => {
    const { app: earlier, storage } = createLoginApp(cell)
    const { accessToken } = await earlier.authenticate(CREDENTIALS)
    const { app, events, findMember } = createLoginApp(cell, storage)
    const result = await app.authenticate()
    sameNamed(t, result, { accessToken, authentication: { strategy: 'jwt' }, user: { id: 1 } })
    t.strictSame(await findMember(), member)
    t.equal(await app.reAuthenticate(), result)
    t.equal(events.filter(([name]) => name === 'login').length, 1)
    t.not(await app.reAuthenticate(true), result)
  })

  t.test('a token that the server refuses is removed', async (t) => {
    const { app, storage } = createLoginApp(cell, new Map([[STORAGE_KEY, 'a.b.c']]))
    t.equal((await errorOf(app.reAuthenticate())).code, 401)
    t.notOk(storage.get(STORAGE_KEY))
    t.equal(await app.get('authentication'), null)
  })

  t.test('a token stays while the server is out of reach', async (t) => {
    const url = `http://127.0.0.1:${await findClosedPort()}`
    const { app, storage } = createLoginApp({ ...cell, url }, new Map([[STORAGE_KEY, 'a.b.c']]))
    await errorOf(app.reAuthenticate())
    t.equal(storage.get(STORAGE_KEY), 'a.b.c')
    t.equal(await app.get('authentication'), null)
  })

  t.test('a logout resolves to the login that ends, and is told of', async (t) => {
    const { app, storage, events, findMember } = createLoginApp(cell)
    const { accessToken } = await app.authenticate(CREDENTIALS)
    const result = await app.logout()
    sameNamed(t, result, { accessToken, user: { email: CREDENTIALS.email } })
    t.strictSame(events.at(-1), ['logout', result])
    t.notOk(storage.get(STORAGE_KEY))
    t.equal(await app.get('authentication'), null)
    sameNamed(t, await outcomeOf(() => findMember()), { error: ANONYMOUS })
    t.equal(await app.logout(), null, 'a second time nobody is there to log out')
  })

  t.test('a token whose user is gone is refused', async (t) => {
    const { app, storage } = createLoginApp(cell)
    await app.authenticate(CREDENTIALS)
    await app.service('users').remove(1)
    const error = await errorOf(app.reAuthenticate(true))
    t.ok(error.code === 401 || error.code === 404, `${error.code}`)
    const { authenticated } = app.authentication
    t.equal(authenticated, expected.staysLoggedInAsNobody)
    t.equal(storage.has(STORAGE_KEY), authenticated)
    t.equal((await app.get('authentication')) !== null, authenticated)
  })
}
