import bcrypt from 'bcryptjs'
import t from 'tap'
import { LocalStrategy, Passwords } from '../../../src/auth/index.ts'
import type { LoginAppOptions } from '../login-app.ts'
import { CHEAP_SCRYPT, CREDENTIALS, createLoginApp, external, startLoginApp } from '../login-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401, message: 'Invalid login' }

/** Writes down what it checks. */
class SpyStrategy extends LocalStrategy {
  readonly checked: [password: unknown, stored: unknown][] = []
  onChecked: () => unknown = () => undefined

  override async verifyPassword(password: string, stored: unknown) {
    this.checked.push([password, stored])
    const verdict = await super.verifyPassword(password, stored)
    await this.onChecked()
    return verdict
  }
}

async function start(options: LoginAppOptions = {}) {
  const local = new SpyStrategy()
  return { ...(await startLoginApp({ local, ...options })), local }
}

t.test('logs in with the documented result', async (t) => {
  const { local, users } = await start()
  const result = await local.authenticate(CREDENTIALS, {})
  t.strictSame(result, { authentication: { strategy: 'local' }, user: users.users.get('1') })
  const query = { $limit: 1, email: 'ada@example.org' }
  t.match(users.takeCalls(), [{ method: 'find', query, provider: undefined }])
})

t.test('refuses settings that are missing or unknown', (t) => {
  const fields = { usernameField: 'email', passwordField: 'password' }
  const cases: [local: object, message: string | RegExp][] = [
    [{}, "'local' authentication strategy requires a 'usernameField' setting"],
    [
      { usernameField: 'email' },
      "'local' authentication strategy requires a 'passwordField' setting",
    ],
    [{ ...fields, userField: 'x' }, /'authentication\.local': unknown option 'userField'/],
    [{ ...fields, scrypt: null }, /'authentication\.local': the option 'scrypt' must be an object/],
    [{ ...fields, scrypt: [] }, /'authentication\.local': the option 'scrypt' must be an object/],
    [{ ...fields, entityUsernameField: 7 }, /'entityUsernameField' must be a non-empty string/],
    [{ ...fields, entityPasswordField: null }, /'entityPasswordField' must be a non-empty string/],
    [{ ...fields, errorMessage: '' }, /'errorMessage' must be a non-empty string/],
    [{ ...fields, scrypt: { n: 4 } }, /'authentication\.local\.scrypt': unknown option 'n'/],
    [{ ...fields, scrypt: { cost: 1000 } }, /'authentication\.local\.scrypt': scrypt cannot take/],
    [{ ...fields, scrypt: { maxQueued: 0 } }, /'maxQueued' must be a whole number/],
    [{ ...fields, hash: 'argon2' }, /'hash' must be 'scrypt' or 'bcrypt'/],
    [{ ...fields, hash: 'bcrypt', hashSize: 9 }, /'hashSize' must be a whole number from 10 to 12/],
    [
      { ...fields, hash: 'bcrypt', hashSize: 13 },
      /'hashSize' must be a whole number from 10 to 12/,
    ],
    [
      { ...fields, hash: 'bcrypt', scrypt: { cost: 1024 } },
      /'authentication\.local\.scrypt': the option 'cost' is for scrypt/,
    ],
  ]
  for (const [local, message] of cases) {
    t.throws(() => createLoginApp({ settings: { local } }), { message }, String(message))
  }
  t.end()
})

t.test('no operator gets to the database, only text to the verifier (INJ-17)', async (t) => {
  const { authentication, local, users } = await start()
  const wrong: unknown[] = [{ $ne: null }, { $gt: '' }, ['ada@example.org'], [], 1, true, null]
  for (const value of [...wrong, undefined, '', { toString: () => 'ada@example.org' }]) {
    for (const field of ['email', 'password']) {
      const data = { ...CREDENTIALS, [field]: value }
      await t.rejects(authentication.create(data, external()), REFUSED, JSON.stringify(data))
    }
  }
  t.strictSame(users.takeCalls(), [], 'no command')
  t.ok(local.checked.every(([password, stored]) => password === '' && stored === undefined))
  await t.rejects(authentication.create({ strategy: 'local', 'email.x': 'a' }, external()), REFUSED)
  t.strictSame(users.takeCalls(), [])
})

t.test('checks exactly one password however it fails, with the same answer (AUTH-1)', async (t) => {
  const { authentication, local, users } = await start()
  await users.create({ id: 2, email: 'none@example.org' })
  await users.create({ id: 3, email: 'odd@example.org', password: 'no hash at all' })
  await users.create({ id: 4, email: 'number@example.org', password: 5 as never })
  const cases: [title: string, data: object][] = [
    ['an unknown user', { email: 'nobody@example.org' }],
    ['a wrong password', { password: 'wrong horse' }],
    ['a user without password', { email: 'none@example.org' }],
    ['a malformed hash (AUTH-5)', { email: 'odd@example.org' }],
    ['a hash that is no text (AUTH-5)', { email: 'number@example.org' }],
    ['no text', { email: 5 }],
  ]
  const answers = new Set<string>()
  for (const [title, data] of cases) {
    local.checked.length = 0
    const error = await authentication
      .create({ ...CREDENTIALS, ...data }, external())
      .catch((thrown: unknown) => thrown)
    t.match(error, REFUSED, title)
    t.equal(local.checked.length, 1, `${title}: one check`)
    answers.add(JSON.stringify(error))
  }
  t.equal(answers.size, 1, 'the same bytes')
})

t.test('an excluded user is told the same as an unknown one (AUTH-1)', async (t) => {
  class ActiveStrategy extends SpyStrategy {
    override async getEntityQuery(query: Record<string, unknown>) {
      return { $limit: 1, active: true, ...query }
    }
  }
  const local = new ActiveStrategy()
  const { authentication } = await startLoginApp({ local })
  await t.rejects(authentication.create(CREDENTIALS, external()), REFUSED)
  t.equal(local.checked.length, 1)
})

t.test('a password is all of its characters (AUTH-3)', async (t) => {
  const { local, users, authentication } = await start()
  const base = 'x'.repeat(72)
  for (const [index, password] of [
    ...[base, 'a\0b', ' spaces around ', '🐎🔋📎', 'x'.repeat(1000), 'x'.repeat(1024)],
  ].entries()) {
    const email = `user${index}@example.org`
    await users.create({ id: 10 + index, email, password: await local.hashPassword(password) })
    const log = (tried: string) =>
      authentication.create({ ...CREDENTIALS, email, password: tried }, external())
    await t.resolves(log(password), `${index}`)
    for (const other of [`${password.slice(0, 1020)}y`, password.slice(0, -1), `${password} `]) {
      if (Buffer.byteLength(other) <= 1024) await t.rejects(log(other), REFUSED)
    }
  }
  const long = { ...CREDENTIALS, password: 'x'.repeat(1025) }
  await t.rejects(authentication.create(long, external()), { code: 400 })
  await t.rejects(local.hashPassword('x'.repeat(1025)), { code: 400 })
})

t.test("keeps the request's query away from the entity", async (t) => {
  const { authentication, users } = await start()
  const query = { name: 'ZZ', $select: ['email'] }
  const { user } = await authentication.create(CREDENTIALS, external({ query }))
  t.match(user, { id: 1, email: 'ada@example.org' })
  t.match(users.takeCalls(), [
    { method: 'find', query: { $limit: 1, email: 'ada@example.org' }, provider: undefined },
    { method: 'get', query: {}, provider: 'rest' },
  ])
})

t.test('reads pages, dotted fields and other names of fields', async (t) => {
  const { app, users, authentication } = await startLoginApp({
    settings: {
      local: {
        usernameField: 'login.name',
        passwordField: 'login.secret',
        entityUsernameField: 'email',
        entityPasswordField: 'auth.hash',
        errorMessage: 'No',
        scrypt: CHEAP_SCRYPT,
      },
    },
  })
  const local = authentication.getStrategy('local') as LocalStrategy
  const hash = await local.hashPassword('pony')
  await users.create({ id: 5, email: 'bob@example.org', auth: { hash } })
  app.service('users').hooks({
    after: {
      find: (context) => {
        const data = context.result as unknown[]
        context.result = { total: data.length, limit: 1, skip: 0, data }
      },
    },
  })
  const login = (secret: string) =>
    local.authenticate({ login: { name: 'bob@example.org', secret } }, {})
  t.match(await login('pony'), { user: { id: 5 } })
  await t.rejects(login('horse'), { code: 401, message: 'No' })
  const own = Object.create({ login: { name: 'bob@example.org', secret: 'pony' } })
  await t.rejects(local.authenticate(own, {}), { code: 401 }, 'only own properties count')
})

t.test('leaves the entity out where there is none', async (t) => {
  const { authentication } = await start({ settings: { entity: null } })
  const result = await authentication.create(CREDENTIALS, external())
  t.strictSame(Object.keys(result), ['accessToken', 'authentication'])
})

t.test('accepts hashes by bcrypt and replaces them at login', async (t) => {
  const { app, authentication, users } = await start()
  let hooksRun = 0
  app.service('users').hooks({
    before: {
      patch: () => {
        hooksRun += 1
      },
    },
  })
  for (const prefix of ['$2a$', '$2b$']) {
    const old = (await bcrypt.hash('correct horse', 4)).replace(/^\$2.\$/, prefix)
    await users.create({ id: 1, email: CREDENTIALS.email, password: old })
    const wrong = { ...CREDENTIALS, password: 'wrong horse' }
    await t.rejects(authentication.create(wrong, external()), REFUSED)
    t.equal(users.users.get('1')?.password, old, 'a wrong password changes nothing')
    await t.resolves(authentication.create(CREDENTIALS, external()))
    t.match(users.users.get('1')?.password, /^\$scrypt\$ln=10,r=8,p=1\$/)
    await t.resolves(authentication.create(CREDENTIALS, external()))
  }
  t.equal(hooksRun, 0, 'no hook hashes the hash')
})

t.test('replaces an outdated hash, unless the password changes meanwhile', async (t) => {
  const fields = { usernameField: 'email', passwordField: 'password' }
  const scrypt = { ...CHEAP_SCRYPT, cost: 2 ** 11 }
  const { authentication, local, users, log } = await start({
    settings: { local: { ...fields, scrypt } },
  })
  const weak = await new Passwords(CHEAP_SCRYPT, 'weak').hash('correct horse')
  const setHash = (password: string) => users.create({ id: 1, email: CREDENTIALS.email, password })
  await setHash(weak)
  await authentication.create(CREDENTIALS, external())
  t.match(users.users.get('1')?.password, /^\$scrypt\$ln=11/)

  await setHash(weak)
  const changed = await local.hashPassword('new pony')
  local.onChecked = () => setHash(changed)
  await authentication.create(CREDENTIALS, external())
  t.equal(users.users.get('1')?.password, changed, 'the new password stays')
  t.match(log.at(-2), { level: 'warn', message: 'An outdated password hash was not replaced' })
})

t.test('logs that a stored hash is malformed, without the hash (AUTH-5)', async (t) => {
  const { authentication, users, log } = await start()
  await users.patch(1, { password: '$scrypt$ln=31,r=8,p=1$c2FsdHNhbHQ$a2V5' })
  await t.rejects(authentication.create(CREDENTIALS, external()), REFUSED)
  t.match(log.at(-1), { level: 'warn', details: { reason: 'the stored hash is malformed' } })
  t.notMatch(JSON.stringify(log), /ln=31/)
})

t.test('replaces hashes at login by those that are configured, and those alone', async (t) => {
  const fields = { usernameField: 'email', passwordField: 'password' }
  const local = { ...fields, hash: 'bcrypt', scrypt: { maxQueued: 5 } }
  const { authentication, users } = await start({ settings: { local } })
  const password = () => users.users.get('1')?.password
  const made = password()
  t.match(made, /^\$2b\$10\$/)
  await authentication.create(CREDENTIALS, external())
  t.equal(password(), made, 'it is one of today')
  const olds = [
    await bcrypt.hash('correct horse', 4),
    await new Passwords(CHEAP_SCRYPT, 'old').hash('correct horse'),
  ]
  for (const old of olds) {
    await users.patch(1, { password: old })
    await t.rejects(authentication.create({ ...CREDENTIALS, password: 'x' }, external()), REFUSED)
    t.equal(password(), old)
    await authentication.create(CREDENTIALS, external())
    t.match(password(), /^\$2b\$10\$/)
    await t.resolves(authentication.create(CREDENTIALS, external()))
  }
  const long = 'x'.repeat(73)
  const old = await new Passwords(CHEAP_SCRYPT, 'old').hash(long)
  await users.patch(1, { password: old })
  await t.resolves(authentication.create({ ...CREDENTIALS, password: long }, external()))
  t.equal(password(), old, 'bcrypt would cut it')
})

t.test('an entity without an id is refused inside the process, too', async (t) => {
  const { local } = await start()
  const message = 'Could not get local entity'
  for (const params of [{}, external()]) {
    for (const entity of [{}, { id: null }, { _id: 1 }]) {
      await t.rejects(local.getEntity(entity, params), { name: 'NotAuthenticated', message })
    }
  }
  t.strictSame(await local.getEntity({ id: 0 }, {}), { id: 0 })
})
