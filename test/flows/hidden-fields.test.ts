import type { Document } from 'mongodb'
import t from 'tap'

import { authenticate, protect } from '../../src/auth/index.ts'
import { CREDENTIALS } from '../auth/login-app.ts'
import { bearer, logIn, refusalOf } from '../support/accounts.ts'
import { openDatabase } from '../support/database.ts'
import { startApp } from '../support/test-app.ts'

const database = await openDatabase(t)
const { commandsOf } = database
const users = database.db.collection('users')
const events: unknown[] = []
const isUser = [authenticate('jwt')]
const server = await startApp(t, {
  database,
  accounts: {},
  stores: {
    users: {
      ...{ multi: true, paginate: { default: 10 }, hidden: ['password', 'reset.code'] },
      operators: ['$regex', '$not', '$where', '$expr'],
      updateOperators: ['$rename', '$max', '$set', 'address.city'],
    },
  },
  hooks: {
    users: { before: { find: isUser, patch: isUser }, after: { all: [protect('reset.code')] } },
  },
  configure(app) {
    for (const name of ['created', 'patched']) {
      app.service('users').on(name, (user) => events.push(user))
    }
  },
})
const { email, password } = CREDENTIALS
const created = await server.request('/users', { data: { email, password } })
const id = String((created.body as Document)['_id'])
await users.updateOne({}, { $set: { reset: { code: '1234', at: 'noon' } } })
const headers = bearer(await logIn(server))
const hash = String((await users.findOne())?.['password'])

const GUESSES: readonly string[] = [
  `password[$gte]=${encodeURIComponent(hash.slice(0, 20))}`,
  'password[$regex]=^.scrypt',
  'password[$not][$regex]=x',
  'password=x',
  'password.length=1',
  '$or[0][password][$lt]=x',
  '$and[0][$or][0][reset.code]=1234',
  'reset[code]=1234',
  'reset[$gte][code]=1',
  '$sort[password]=1',
  '$sort[reset]=1',
  '$select[]=password',
  '$select[]=email&$select[]=reset.code',
  '$where=this.password',
  '$expr[$gt][]=$password&$expr[$gt][]=x',
]

t.test('a hash that nobody sees is not told by guesses either (MASS-3)', async (t) => {
  const commands = await commandsOf(async () => {
    for (const guess of GUESSES) {
      const { status, text } = await server.request(`/users?${guess}`, { headers })
      t.equal(status, 400, guess)
      t.notMatch(text, /scrypt|1234/)
    }
  })
  const finds = commands.filter(({ filter }) => !filter?._id)
  t.strictSame(finds, [], 'only the users behind the tokens are read')
})

t.test('a guess is answered with the field that was asked for and nothing else', async (t) => {
  const answer = await server.request('/users?password[$gte]=$scrypt', { headers })
  t.strictSame(refusalOf(answer), [400, "The field 'password' cannot be queried"])
})

t.test('no answer and no event has a hidden field (MASS-3)', async (t) => {
  const visible = { _id: id, email, reset: { at: 'noon' } }
  const found = await server.request('/users', { headers })
  t.strictSame((found.body as Document)['data'], [visible])
  const selected = await server.request(`/users/${id}?$select[]=reset`, { headers })
  t.strictSame(selected.body, { _id: id, reset: { at: 'noon' } })
  const data = { name: 'Ann' }
  const patched = await server.request(`/users/${id}`, { method: 'PATCH', headers, data })
  t.strictSame(patched.body, { ...visible, name: 'Ann' })
  t.strictSame(Object.keys(created.body as Document).sort(), ['_id', 'email'])
  t.equal(events.length, 2)
  t.notMatch(JSON.stringify(events), /scrypt|1234/)
})

t.test('update operators do not move or compare a hidden field (FTH-9)', async (t) => {
  const bodies = [
    { $rename: { password: 'open' } },
    { $rename: { reset: 'open' } },
    { $rename: { email: 'address.street' } },
    { $max: { password: 'x' } },
    { $set: { password: 'plain text' } },
  ]
  for (const data of bodies) {
    const answer = await server.request(`/users/${id}`, { method: 'PATCH', headers, data })
    t.equal(answer.status, 400, JSON.stringify(data))
  }
  t.match(await users.findOne(), { email, password: hash, reset: { code: '1234' } })
})

t.test('a user changes the password, and logs in with the new one only', async (t) => {
  const data = { password: 'a new and longer password' }
  const { status } = await server.request(`/users/${id}`, { method: 'PATCH', headers, data })
  t.equal(status, 200)
  t.equal((await server.request('/authentication', { data: CREDENTIALS })).status, 401)
  const login = await server.request('/authentication', { data: { ...CREDENTIALS, ...data } })
  t.equal(login.status, 201)
  t.strictSame((login.body as Document)['user'].password, undefined)
})

t.test('nobody takes the id of a user who is gone, and his token with it (MASS-1)', async (t) => {
  const data = { email: 'eve@example.org', password: 'some other password' }
  await users.deleteOne({})
  for (const _id of [id, id.toUpperCase()]) {
    const answer = await server.request('/users', { data: { ...data, _id } })
    t.strictSame(refusalOf(answer), [400, "The field '_id' is set by the server"])
  }
  t.equal((await server.request('/users', { data })).status, 201)
  t.equal((await server.request('/users', { headers })).status, 401)
})
