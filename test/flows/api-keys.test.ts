import t from 'tap'
import type { AuthenticationService } from '../../src/auth/index.ts'
import { recheckStreams } from '../../src/transport/realtime/recheck.ts'
import type { CreatedKey } from '../support/api-key-server.ts'
import { startKeys, UnblockedUsers } from '../support/api-key-server.ts'
import { openDatabase } from '../support/database.ts'
import { openFrames } from '../support/event-frames.ts'
import { pluck } from '../support/pluck.ts'

const database = await openDatabase(t)
const { db } = database
const SHOWN = ['_id', 'createdAt', 'expiresAt', 'name', 'scopes', 'start', 'usedAt']

t.test('a key is shown once, is stored as a hash, and does what its scopes say', async (t) => {
  const { server, ada, seen, created, createKey, withKey, stored } = await startKeys(t, database)
  const answer = await createKey()
  t.strictSame(Object.keys(answer).sort(), [...SHOWN, 'key'].sort())
  t.match(answer, { name: 'backup', scopes: ['notes:read'], expiresAt: null, usedAt: null })
  t.equal(answer.start, `acme_${answer._id}`)
  t.match(answer.key, new RegExp(`^${answer.start}_[0-9A-Za-z]{50}$`))
  const [record] = await stored.find().toArray()
  t.match(record, { userId: ada.id, prefix: 'acme' })
  const secret = answer.key.split('_').at(-1)?.slice(0, -7) ?? ''
  t.notMatch(JSON.stringify(record), secret)
  t.strictSame(created, [], 'no event has the key')

  const headers = withKey(answer.key)
  const { status, headers: sent } = await server.request('/notes', { headers })
  t.equal(status, 200)
  t.match(sent['cache-control'], 'no-store')
  t.strictSame(seen.at(-1), {
    strategy: 'api-key',
    payload: { sub: ada.id, scopes: ['notes:read'], keyId: answer._id },
  })
  const refused = await server.request('/notes', { headers, data: { text: 'Hello' } })
  t.match(refused, { status: 403, body: { message: "The scope 'notes:write' is needed" } })
  const byToken = await server.request('/notes', { headers: ada.headers, data: { text: 'Hello' } })
  t.equal(byToken.status, 201, 'a token has all rights of its user')
})

t.test('people see and remove their own keys, and nothing of the secret (KEY-4)', async (t) => {
  const { server, ada, signUp, createKey, readNotes } = await startKeys(t, database)
  const bob = await signUp('bob@example.org')
  const [one, two] = [await createKey(), await createKey({ name: 'second', scopes: [] })]
  const theirs = await createKey({}, bob)
  const { headers } = ada
  const { body } = await server.request('/api-keys?$sort[createdAt]=1', { headers })
  const { data } = body as { data: CreatedKey[] }
  t.strictSame(pluck(data, '_id'), [one._id, two._id])
  t.strictSame(Object.keys(data[0] ?? {}).sort(), SHOWN)
  const mine = `/api-keys/${one._id}`
  t.strictSame(Object.keys((await server.request(mine, { headers })).body as object).sort(), SHOWN)
  const refusals: [path: string, options: object, status: number][] = [
    ['/api-keys', {}, 401],
    [mine, {}, 401],
    ['/api-keys', { data: { name: 'x' } }, 401],
    [`/api-keys/${theirs._id}`, { headers }, 404],
    [`/api-keys/${theirs._id}`, { method: 'DELETE', headers }, 404],
    ['/api-keys', { method: 'DELETE', headers }, 400],
    ['/api-keys?secretHash[$gte]=a', { headers }, 400],
    ['/api-keys?$select[]=secretHash', { headers }, 400],
    [`/api-keys?userId=${bob.id}`, { headers }, 400],
    [mine, { method: 'PATCH', data: { scopes: ['notes:write'] }, headers }, 405],
    [mine, { method: 'PUT', data: { scopes: ['notes:write'] }, headers }, 405],
    ['/api-keys', { headers: { ...headers, accept: 'text/event-stream' } }, 406],
  ]
  for (const [path, options, status] of refusals) {
    const title = `${JSON.stringify(options)} ${path}`
    t.equal((await server.request(path, options)).status, status, title)
  }
  t.equal(await readNotes(one.key), 200)
  const removed = await server.request(mine, { method: 'DELETE', headers })
  t.strictSame(Object.keys(removed.body as object).sort(), SHOWN)
  t.equal(await readNotes(one.key), 401, 'a removed key is refused at once')
  t.equal(await readNotes(two.key), 403)
  t.equal(await readNotes(theirs.key), 200)
})

t.test('a new key is what its data says, or is refused by name', async (t) => {
  const { server, ada, signUp, createKey } = await startKeys(t, database)
  const bob = await signUp('bob@example.org')
  const ok = { name: 'backup' }
  const wrong: [data: unknown, message: RegExp][] = [
    [{}, /'name' must be a string of 1 to 100 characters/],
    [{ name: '' }, /'name' must be/],
    [{ name: 'x'.repeat(101) }, /'name' must be/],
    [{ name: 'x'.repeat(1_000_000) }, /'name' must be/],
    [{ name: { $ne: '' } }, /'name' must be/],
    [{ name: ['backup'] }, /'name' must be/],
    [{ ...ok, scopes: 'notes:read' }, /'scopes' must be a list of: notes:read, notes:write/],
    [{ ...ok, scopes: ['notes:read', 'admin'] }, /'scopes' must be a list of/],
    [{ ...ok, scopes: [['notes:read']] }, /'scopes' must be a list of/],
    [{ ...ok, scopes: { 0: 'notes:read' } }, /'scopes' must be a list of/],
    [{ ...ok, scopes: null }, /'scopes' must be a list of/],
    [{ ...ok, expiresAt: '2001-01-01T00:00:00Z' }, /'expiresAt' must be a time to come/],
    [{ ...ok, expiresAt: '3001-13-01T00:00:00Z' }, /'expiresAt' must be/],
    [{ ...ok, expiresAt: '3001-01-01' }, /'expiresAt' must be/],
    [{ ...ok, expiresAt: 32_503_680_000_000 }, /'expiresAt' must be/],
    [{ ...ok, expiresAt: '' }, /'expiresAt' must be/],
    [{ ...ok, userId: bob.id }, /made of name, scopes, expiresAt, and has no 'userId'/],
    [{ ...ok, usedAt: null }, /has no 'usedAt'/],
    [{ ...ok, secretHash: 'x' }, /has no 'secretHash'/],
    [{ ...ok, _id: '0123456789abcdef01234567' }, /has no '_id'/],
    [[ok, ok], /made of an object|multi|many/i],
  ]
  const { headers } = ada
  for (const [data, message] of wrong) {
    const { status, body } = await server.request('/api-keys', { headers, data })
    const title = JSON.stringify(data).slice(0, 100)
    t.ok(status === 400 || status === 405, `${status} ${title}`)
    t.match(body, { message }, title)
  }
  const query = await server.request('/api-keys?$select[]=name', { headers, data: ok })
  t.match(query, { status: 400, body: { message: 'An API key is made without a query' } })
  const expiresAt = '3001-01-01T00:00:00.000Z'
  const key = await createKey({ scopes: ['notes:read', 'notes:read'], expiresAt })
  t.match(key, { scopes: ['notes:read'], expiresAt })
})

t.test('a token with scopes makes no key that may do more (KEY-6)', async (t) => {
  const { server, ada, withToken, stored } = await startKeys(t, database)
  const service = server.app.service('authentication') as unknown as AuthenticationService
  const claims = { scopes: ['notes:read'] }
  const headers = withToken(await service.createAccessToken(claims, { subject: ada.id }))
  const make = async (scopes: string[]) =>
    (await server.request('/api-keys', { headers, data: { name: 'backup', scopes } })).status
  t.equal(await make(['notes:write']), 403)
  t.equal(await make(['notes:read', 'notes:write']), 403)
  t.equal(await make(['notes:read']), 201)
  t.equal(await stored.countDocuments(), 1)
  const data = { text: 'Hello' }
  t.equal((await server.request('/notes', { headers, data })).status, 403)
})

t.test('a user has as many keys as allowed, also when they are made at once', async (t) => {
  const section = { maxPerUser: 3 }
  const { server, ada, signUp, createKey, stored } = await startKeys(t, database, { section })
  const bob = await signUp('bob@example.org')
  await createKey()
  await createKey({}, bob)
  const data = { name: 'one of many' }
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => server.request('/api-keys', { headers: ada.headers, data })),
  )
  t.strictSame([...new Set(answers.map(({ status }) => status))].sort().at(-1), 409)
  t.ok((await stored.countDocuments({ userId: ada.id })) <= 3)
  while ((await stored.countDocuments({ userId: ada.id })) < 3) await createKey()
  const { status, body } = await server.request('/api-keys', { headers: ada.headers, data })
  t.match({ status, body }, { status: 409, body: { message: /may have 3 API keys/ } })
  t.equal(await stored.countDocuments({ userId: ada.id }), 3)
  t.equal(await stored.countDocuments({ userId: bob.id }), 1)
})

t.test('a key makes no keys, begins no session, and is no login (KEY-1)', async (t) => {
  const settings = { sessions: { service: 'sessions' } }
  const { server, createKey, withKey, stored, ada } = await startKeys(t, database, { settings })
  const { key, _id } = await createKey({ scopes: ['notes:read', 'notes:write'] })
  const headers = withKey(key)
  const sessions = await db.collection('sessions').countDocuments()
  const refusals: [path: string, options: object][] = [
    ['/api-keys', { headers, data: { name: 'child' } }],
    ['/api-keys', { headers }],
    [`/api-keys/${_id}`, { headers, method: 'DELETE' }],
    ['/sessions', { headers }],
    ['/authentication', { data: { strategy: 'api-key', apiKey: key } }],
    ['/authentication', { headers, data: { strategy: 'api-key', apiKey: key } }],
    ['/authentication', { headers, data: { strategy: 'jwt', accessToken: key } }],
    ['/authentication', { data: { strategy: 'refresh', refreshToken: key } }],
    ['/authentication', { headers, method: 'DELETE' }],
    ['/authentication/all', { headers, method: 'DELETE' }],
    ['/notes', { headers: { authorization: `Bearer ${key}` } }],
  ]
  for (const [path, options] of refusals) {
    const { status, text } = await server.request(path, options)
    t.equal(status, 401, `${JSON.stringify(options)} ${path}`)
    t.notMatch(text, key)
  }
  t.equal(await stored.countDocuments(), 1)
  t.equal(await db.collection('sessions').countDocuments(), sessions)
  t.equal((await server.request('/sessions', { headers: ada.headers })).status, 200)
})

t.test('what is no key of the server is refused alike (KEY-3)', async (t) => {
  const { server, createKey, withKey, readNotes, stored } = await startKeys(t, database)
  const { key } = await createKey()
  const wrongEnd = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  const wrong = [key.slice(0, -1), wrongEnd, `${key}0`, key.toLowerCase(), 'acme', `Bearer ${key}`]
  for (const value of [...wrong, '{"$ne":null}', 'x'.repeat(8000)]) {
    const { status, body } = await server.request('/notes', { headers: withKey(value) })
    t.match({ status, body }, { status: 401, body: { message: 'Invalid API key' } }, value)
  }
  const twice = await server.request('/notes', { headers: { 'x-api-key': [key, key] } })
  t.equal(twice.status, 401, 'a header that is sent twice')
  const huge = await server.raw(
    `GET /notes HTTP/1.1\r\nHost: x\r\nX-API-Key: ${'x'.repeat(1_000_000)}\r\nConnection: close\r\n\r\n`,
  )
  t.match(huge, /^HTTP\/1\.1 431/)
  t.equal(await readNotes(''), 401)
  t.equal(await readNotes(key), 200)
  await stored.updateOne({}, { $set: { secretHash: 'x'.repeat(43) } })
  t.equal(await readNotes(key), 401, 'a record with another hash')
})

t.test('a key in a query string is never read (KEY-2)', async (t) => {
  const { server, createKey, seen } = await startKeys(t, database)
  const { key } = await createKey()
  for (const name of ['api_key', 'apiKey', 'x-api-key', 'X-API-Key', 'access_token', 'key']) {
    t.equal((await server.request(`/notes?${name}=${key}`)).status, 401, name)
  }
  t.strictSame(seen, [])
})

t.test('an expired key is refused, and says so to its owner alone', async (t) => {
  const { server, createKey, readNotes, withKey, stored, ada } = await startKeys(t, database)
  const { key, _id } = await createKey({ expiresAt: '3001-01-01T00:00:00Z' })
  t.equal(await readNotes(key), 200)
  const [record] = await stored.find().toArray()
  await stored.updateOne({}, { $set: { expiresAt: record?.['createdAt'] } })
  const { status, body } = await server.request('/notes', { headers: withKey(key) })
  t.match({ status, body }, { status: 401, body: { message: 'The API key has expired' } })
  const shown = await server.request(`/api-keys/${_id}`, { headers: ada.headers })
  t.equal(shown.status, 200, 'its owner sees why')
  const indexes = (await stored.indexes()).filter((one) => 'expireAfterSeconds' in one)
  t.match(indexes, [{ key: { expiresAt: 1 }, expireAfterSeconds: 30 * 86_400 }])
})

t.test('a key is good until its user is gone or blocked, whatever the password is', async (t) => {
  const { ada, createKey, readNotes } = await startKeys(t, database, { jwt: new UnblockedUsers() })
  const { key } = await createKey()
  const users = db.collection('users')
  const change = async ($set: object) => users.updateOne({ email: 'ada@example.org' }, { $set })
  await change({ password: 'another hash' })
  t.equal(await readNotes(key), 200)
  await change({ isBlocked: true })
  t.equal(await readNotes(key), 401)
  await change({ isBlocked: false })
  t.equal(await readNotes(key), 200)
  await users.deleteMany({})
  t.equal(await readNotes(key), 401, ada.id)
})

t.test('the last use is noted once a minute', async (t) => {
  const { createKey, readNotes, stored } = await startKeys(t, database)
  const { key } = await createKey()
  const readUse = async () => (await stored.find().toArray())[0]?.['usedAt'] as Date | null
  const updates = async (run: () => Promise<unknown>) =>
    (await database.commandsOf(run)).filter(({ findAndModify, update }) => findAndModify ?? update)
  t.equal(await readUse(), null)
  await readNotes(key)
  const first = (await readUse()) as Date
  t.type(first, Date)
  const $set = { usedAt: new Date(first.getTime() - 60_001) }
  await stored.updateOne({}, { $set })
  const later = await Promise.all(Array.from({ length: 5 }, () => readNotes(key)))
  t.strictSame(later, [200, 200, 200, 200, 200])
  t.ok(((await readUse()) as Date) >= first)
  // As far ahead as the clock of another process may be.
  await stored.updateOne({}, { $set: { usedAt: new Date(first.getTime() + 3_600_000) } })
  t.strictSame(await updates(() => readNotes(key)), [])
})

t.test('a use that can not be noted is logged, and the request goes on', async (t) => {
  const { server, createKey, readNotes } = await startKeys(t, database)
  const { key, _id } = await createKey()
  Object.assign(server.app.service('api-keys'), {
    _patch: () => Promise.reject(new Error('the disk is full')),
  })
  t.equal(await readNotes(key), 200)
  const line = server.logged.find(({ message }) => message?.includes('could not be noted'))
  t.match(line, { details: { keyId: _id, err: { message: 'the disk is full' } } })
})

t.test('guesses count for their address, expired keys do not, and good keys pass', async (t) => {
  const settings = { loginThrottle: { maxAttemptsPerAddress: 3 } }
  const { createKey, readNotes, stored } = await startKeys(t, database, { settings })
  const [good, old] = [await createKey(), await createKey({ name: 'old' })]
  const [record] = await stored.find().toArray()
  const $set = { expiresAt: record?.['createdAt'] }
  await stored.updateOne({ name: 'old' }, { $set })
  for (let count = 0; count < 5; count += 1) t.equal(await readNotes(old.key), 401)
  const answers: number[] = []
  for (let count = 0; count < 5; count += 1) answers.push(await readNotes('acme_1'))
  t.strictSame(answers, [401, 401, 401, 429, 429])
  const many = await Promise.all(Array.from({ length: 60 }, () => readNotes(good.key)))
  t.strictSame([...new Set(many)], [200])
})

t.test('no line of the log has a key (KEY-5)', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const fastify = { logger: { level: 'trace', stream } }
  const section = { header: 'X-Acme' }
  const { server, createKey, ada } = await startKeys(t, database, { fastify, section })
  const { key, start } = await createKey()
  const secret = key.slice(start.length + 1)
  const send = (path: string, headers: Record<string, string> = {}) =>
    server.request(path, { headers })
  t.equal((await send('/notes', { 'x-acme': key })).status, 200)
  await send('/notes', { 'x-acme': `${key}x` })
  await send(`/notes?q=${key}`, ada.headers)
  await send(`/nowhere/${key}`)
  await server.request('/authentication', { data: { strategy: 'api-key', apiKey: key } })
  const log = lines.join('')
  t.match(log, `${start}_[redacted]`)
  t.notMatch(log, secret)
})

t.test('the application makes keys for its users, and sees what is stored', async (t) => {
  const { server, ada, readNotes } = await startKeys(t, database)
  const keys = server.app.service('api-keys') as never as {
    create(data: object): Promise<CreatedKey>
    find(params: object): Promise<{ data: object[] }>
    remove(id: string | null, params?: object): Promise<object>
  }
  await t.rejects(keys.create({ name: 'a job' }), /'userId' must be the id of a user/)
  await t.rejects(keys.create({ name: 'a job', userId: {} }), /'userId' must be/)
  const { key, _id } = await keys.create({ name: 'a job', userId: ada.id, scopes: ['notes:read'] })
  t.equal(await readNotes(key), 200)
  t.match(await keys.find({ query: {} }), { data: [{ secretHash: String, userId: ada.id }] })
  await keys.remove(_id)
  t.equal(await readNotes(key), 401)
  const other = await keys.create({ name: 'a job', userId: ada.id })
  const multi = { query: { userId: ada.id }, adapter: { multi: ['remove'] } }
  await keys.remove(null, multi)
  t.equal(await readNotes(other.key), 401, 'all keys of a user')
})

t.test('a service that takes the place of the one with the keys is guarded as well', async (t) => {
  const { server, createKey } = await startKeys(t, database)
  const { app } = server
  const service = app.entries.get('api-keys')?.service as never
  await app.unuse('api-keys')
  app.use('api-keys', service)
  t.equal((await server.request('/api-keys')).status, 401)
  t.match((await createKey()).key, /^acme_/)
})

t.test('a stream ends when its key is removed or expires', async (t) => {
  const { server, createKey, withKey, stored, ada, seen } = await startKeys(t, database)
  const removed = await createKey()
  const expiring = await createKey({ expiresAt: '3001-01-01T00:00:00Z' })
  const open = async ({ key }: CreatedKey) => {
    const frames = await openFrames(t, `${server.url}/notes`, withKey(key))
    await frames.next()
    return frames
  }
  const [one, two] = [await open(removed), await open(expiring)]
  t.equal(seen.at(-1)?.payload?.['exp'], Math.floor(Date.parse('3001-01-01T00:00:00Z') / 1000))
  await server.request(`/api-keys/${removed._id}`, { method: 'DELETE', headers: ada.headers })
  const [record] = await stored.find().toArray()
  await stored.updateOne({}, { $set: { expiresAt: record?.['createdAt'] } })
  recheckStreams(server.app.service('notes'))
  for (const frames of [one, two]) {
    t.match((await frames.rest()).at(-1), { event: 'end', data: { reason: 'expired' } })
  }
})
