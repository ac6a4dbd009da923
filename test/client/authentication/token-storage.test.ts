import t from 'tap'
import type { TokenStorage } from '../../../src/client/index.ts'
import { authentication, createClient, MemoryStorage } from '../../../src/client/index.ts'
import { Gate } from '../../support/gate.ts'
import { laterTurns } from '../../support/until.ts'
import { errorOf } from '../error-of.ts'
import { BEN, CREDENTIALS, startLoginServer } from './login-server.ts'

const KEY = 'feathers-jwt'

/** A storage as `localStorage` is: its methods need it as `this`, and return no promises. */
class PageStorage implements TokenStorage {
  readonly items: Record<string, string> = {}
  /** The methods that fail. */
  readonly broken = new Set<string>()

  getItem(key: string): string | null {
    this.#check('getItem', '')
    return this.items[key] ?? null
  }

  setItem(key: string, value: string): void {
    this.#check('setItem', value)
    this.items[key] = value
  }

  removeItem(key: string): void {
    this.#check('removeItem', '')
    delete this.items[key]
  }

  #check(name: string, value: string): void {
    if (this.broken.has(name)) throw new RangeError(`no room for ${value}`)
  }
}

function connect(baseURL: string, storage: TokenStorage) {
  const logged: unknown[] = []
  const client = createClient({ baseURL }).configure(authentication({ storage }))
  client.logger = { ...console, error: (...values: unknown[]) => void logged.push(...values) }
  return { client, logged }
}

/** Returns a storage whose writes wait at a gate, and what it keeps. */
function createSlowStorage(write: (gate: Gate, keep: () => unknown) => Promise<unknown>) {
  const [gate, kept] = [new Gate(), new MemoryStorage()]
  const storage: TokenStorage = {
    getItem: (key) => kept.getItem(key),
    setItem: (key, value) => write(gate, () => kept.setItem(key, value)),
    removeItem: (key) => kept.removeItem(key),
  }
  return { gate, kept, storage }
}

t.test('a storage of a page keeps the token, under its name', async (t) => {
  const server = await startLoginServer(t)
  const storage = new PageStorage()
  const { client } = connect(server.url, storage)
  const { accessToken } = await client.authenticate(CREDENTIALS)
  t.strictSame(storage.items, { [KEY]: accessToken })
  t.match(await connect(server.url, storage).client.reAuthenticate(), { accessToken })
  t.equal(await client.authentication.getAccessToken(), accessToken)
  await client.authentication.setAccessToken('other')
  t.strictSame(storage.items, { [KEY]: 'other' })
  await client.authentication.removeAccessToken()
  t.strictSame(storage.items, {})
})

t.test('whatever is kept that is no token is none', async (t) => {
  const server = await startLoginServer(t)
  for (const value of [undefined, null, '', 0, 7, {}, ['a'], Promise.resolve(null)]) {
    const storage = { getItem: () => value, setItem: () => undefined, removeItem: () => undefined }
    const { client } = connect(server.url, storage)
    await t.rejects(client.reAuthenticate(), { message: 'No accessToken found in storage' })
  }
  t.equal(server.requests.length, 0)
})

t.test('a storage that keeps no token fails the login, says nothing of the token', async (t) => {
  const server = await startLoginServer(t)
  const storage = new PageStorage()
  storage.broken.add('setItem')
  const { client } = connect(server.url, storage)
  const error = await errorOf(client.authenticate(CREDENTIALS))
  const message = 'The storage failed to keep the access token (RangeError)'
  t.match(error, { name: 'GeneralError', message, cause: undefined })
  t.equal(client.authentication.authenticated, false)
  t.equal(client.get('authentication'), null)
})

t.test('a storage that can not be read fails what needs the token, and nothing else', async (t) => {
  const server = await startLoginServer(t)
  const storage = new PageStorage()
  const { client } = connect(server.url, storage)
  await client.authenticate(CREDENTIALS)
  storage.broken.add('getItem')
  const message = 'The storage failed to give out the access token (RangeError)'
  await t.rejects(client.reAuthenticate(true), { name: 'GeneralError', message })
  t.match(await client.service('echo').find(), { user: { email: CREDENTIALS.email } })
  t.match(await client.logout(), { user: { email: CREDENTIALS.email } })
  await t.rejects(client.logout(), { message })
})

t.test('a storage that does not let go of a token fails the logout, and says so', async (t) => {
  const server = await startLoginServer(t)
  const storage = new PageStorage()
  const { client } = connect(server.url, storage)
  await client.authenticate(CREDENTIALS)
  storage.broken.add('removeItem')
  const message = 'The storage failed to remove the access token (RangeError)'
  await t.rejects(client.logout(), { name: 'GeneralError', message })
  t.equal(server.count('DELETE /authentication'), 1)
  t.equal(client.authentication.authenticated, false)
})

t.test('a refused token that stays is logged, without the token', async (t) => {
  const server = await startLoginServer(t)
  const storage = new PageStorage()
  const { client, logged } = connect(server.url, storage)
  storage.items[KEY] = 'forged'
  storage.broken.add('removeItem')
  await t.rejects(client.reAuthenticate(), { code: 401 })
  t.match(logged, [{ err: { code: 500 } }, 'A token that the server rejects is still kept'])
  t.notMatch(String(JSON.stringify(logged)), 'forged')
})

t.test('a login whose token is kept too late is not the login', async (t) => {
  const server = await startLoginServer(t)
  const { gate, kept, storage } = createSlowStorage((gate, keep) => gate.pass().then(keep))
  const { client } = connect(server.url, storage)
  const answered = new Gate()
  client.service('authentication').hooks({ after: { create: () => void answered.pass() } })
  const first = errorOf(client.authenticate(CREDENTIALS))
  await gate.arrivals(1)
  const second = client.authenticate(BEN)
  await answered.arrivals(2)
  await laterTurns()
  gate.open()
  t.match(await first, { code: 401, message: /has taken the place of this login/ })
  t.equal((await second).accessToken, await kept.getItem(KEY))
})

t.test('a slow storage can not bring a token back after the logout', async (t) => {
  const server = await startLoginServer(t)
  const { gate, kept, storage } = createSlowStorage((gate, keep) => gate.pass().then(keep))
  const { client } = connect(server.url, storage)
  const login = errorOf(client.authenticate(CREDENTIALS))
  await gate.arrivals(1)
  const leaving = client.logout()
  gate.open()
  t.match(await login, { code: 401, message: /has ended/ })
  t.match(await leaving, { user: { email: CREDENTIALS.email } })
  t.equal(await kept.getItem(KEY), null)
  t.equal(client.get('authentication'), null)
})

t.test('a refusal leaves the token alone that another page has kept meanwhile', async (t) => {
  const server = await startLoginServer(t)
  const storage = new PageStorage()
  storage.items[KEY] = 'stale'
  const { client } = connect(server.url, storage)
  const refused = new Gate()
  client.service('authentication').hooks({ error: { create: () => refused.pass() } })
  const stale = errorOf(client.reAuthenticate())
  await refused.arrivals(1)
  const { accessToken } = await connect(server.url, storage).client.authenticate(CREDENTIALS)
  refused.open()
  t.match(await stale, { code: 401 })
  t.strictSame(storage.items, { [KEY]: accessToken })
})

t.test('a wrong password and a logout leave the token of another page alone', async (t) => {
  const server = await startLoginServer(t)
  for (const leave of [true, false]) {
    const storage = new PageStorage()
    const { client } = connect(server.url, storage)
    await client.authenticate(CREDENTIALS)
    const other = connect(server.url, storage)
    const { accessToken } = await other.client.authenticate(BEN)
    if (leave) t.match(await client.logout(), { user: { email: CREDENTIALS.email } })
    else await t.rejects(client.authenticate({ ...CREDENTIALS, password: 'no' }), { code: 401 })
    t.strictSame(storage.items, { [KEY]: accessToken })
    t.equal(await client.authentication.getAccessToken(), accessToken)
    await client.authentication.removeAccessToken()
    t.strictSame(storage.items, {})
  }
})

t.test('a logout removes the token of a login that does not count yet', async (t) => {
  const server = await startLoginServer(t)
  const { gate, kept, storage } = createSlowStorage(async (gate, keep) => {
    await keep()
    if (gate.arrived > 0) await gate.pass()
  })
  const { client } = connect(server.url, storage)
  const { accessToken: first } = await client.authenticate(CREDENTIALS)
  void gate.pass()
  const second = errorOf(client.authenticate(BEN))
  await gate.arrivals(2)
  const leaving = client.logout()
  gate.open()
  t.match(await leaving, { accessToken: first })
  t.match(await second, { message: /has ended/ })
  t.equal(await kept.getItem(KEY), null)
})
