import { memory } from '@feathersjs/memory'
import t from 'tap'
import { hashPassword, LocalStrategy, passwordHash } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { resolve, resolveData } from '../../../src/core/schema/index.ts'
import { Gate } from '../../support/gate.ts'
import { CREDENTIALS, collectLog, external, startLoginApp } from '../login-app.ts'

const HASH = /^\$scrypt\$ln=10,r=8,p=1\$/

/** Writes down what it hashes, and waits at a gate where there is one. */
class SpyStrategy extends LocalStrategy {
  readonly hashed: unknown[] = []
  gate: Gate | null = null

  override async hashPassword(...args: Parameters<LocalStrategy['hashPassword']>) {
    this.hashed.push(args[0])
    const hash = await super.hashPassword(...args)
    await this.gate?.pass()
    return hash
  }
}

/** The application with a service that returns the data it was given. */
async function start(...args: Parameters<typeof hashPassword>) {
  const local = new SpyStrategy()
  const { app, ...others } = await startLoginApp({ local })
  local.hashed.length = 0
  app.use('echo', {
    create: async (data: unknown) => data,
    patch: async (_id: unknown, data: unknown) => data,
    update: async (_id: unknown, data: unknown) => data,
  })
  app.service('echo').hooks({ before: { all: [hashPassword(...args)] } })
  const echo = app.service('echo')
  return { app, echo, ...others, local }
}

t.test('hashes once, whichever way the password is written (AUTH-4)', async (t) => {
  const { echo, local, users } = await start('password')
  const data = { name: 'x', password: 'pony' }
  const written = [
    await echo.create(data),
    await echo.create(data, external()),
    await echo.patch(1, data, external()),
    await echo.update(1, data, external()),
  ] as { name: string; password: string }[]
  for (const { name, password } of written) {
    t.equal(name, 'x')
    t.match(password, HASH)
    t.match(await local.verifyPassword('pony', password), { isCorrect: true })
  }
  t.strictSame(data, { name: 'x', password: 'pony' }, 'the data of the caller stays')
  const list = (await echo.create([data, { name: 'y' }, data])) as { password?: string }[]
  t.match(list, [{ password: HASH }, { name: 'y' }, { password: HASH }])
  t.notOk('password' in (list[1] ?? {}))
  const { password } = users.users.get('1') ?? {}
  t.notSame((await echo.create({ password })) as object, { password }, 'a hash is no password')
})

t.test('hashes below operators and under dotted keys too (AUTH-4)', async (t) => {
  const { echo } = await start('auth.password')
  const cases: object[] = [
    { auth: { password: 'pony', kept: 1 } },
    { 'auth.password': 'pony' },
    { $set: { auth: { password: 'pony' } } },
    { $set: { 'auth.password': 'pony' }, $inc: { logins: 1 } },
    { $setOnInsert: { 'auth.password': 'pony' } },
  ]
  for (const data of cases) {
    const text = JSON.stringify(await echo.patch(1, data))
    t.notMatch(text, /pony/, text)
    t.match(text, /\$scrypt\$ln=10/)
  }
  t.match(await echo.patch(1, cases[0]), { auth: { kept: 1 } })
})

t.test('hashes in objects of a class, and keeps the class (AUTH-4)', async (t) => {
  class NewUser {
    readonly email = 'ada@example.org'
    readonly profile = new Map([['password', 'pony']])
    password: unknown
    constructor(password: unknown) {
      this.password = password
    }
  }
  const { echo } = await start('password')
  const data = new NewUser('pony')
  const written = (await echo.create(data)) as NewUser
  t.ok(written instanceof NewUser)
  t.match(written, { email: 'ada@example.org', password: HASH })
  t.equal(data.password, 'pony', 'the data of the caller stays')
  t.match(await echo.create(Object.assign(Object.create(null), data)), { password: HASH })
  t.match(await echo.patch(1, { $set: new NewUser('pony') }), { $set: { password: HASH } })
  await t.rejects(echo.create(new NewUser(7)), { code: 400 })
  const { echo: nested } = await start('profile.password')
  t.match(await nested.create(new NewUser('pony')), { profile: { password: HASH } })
})

t.test('hashes at every place that the path may mean (AUTH-4)', async (t) => {
  const { echo } = await start('profile.work.password')
  const password = 'pony'
  const cases: object[] = [
    { profile: [{ work: {} }, { work: [{ password: null }, { password }] }] },
    { 'profile.work.password': password },
    { 'profile.work': { password } },
    { profile: { 'work.password': password } },
    { $set: { 'profile.0.work.password': password } },
    { $set: { 'profile.$[].work': { password } } },
    { $push: { profile: { $each: [{ work: { password } }] } } },
    { $addToSet: { 'profile.3.work': { password } } },
  ]
  for (const data of cases) {
    const given = JSON.stringify(data)
    const text = JSON.stringify(await echo.patch(1, data))
    t.notMatch(text, /pony/, given)
    t.equal(text.split('$scrypt').length, 2, given)
  }
  const others = { $unset: { 'profile.work.password': '' }, profile: { password, works: [1] } }
  t.strictSame(await echo.patch(1, others), others)
})

t.test('leaves alone what has no password, and refuses what is none', async (t) => {
  const { echo } = await start('password')
  for (const data of [{ name: 'x' }, { password: null }, {}, 'text', undefined]) {
    t.strictSame(await echo.create(data), data)
  }
  for (const password of ['', 7, {}, ['pony'], { $ne: null }, 'x'.repeat(1025), 'ü'.repeat(513)]) {
    await t.rejects(echo.create({ password }, external()), { name: 'BadRequest', code: 400 })
  }
  await t.resolves(echo.create({ password: 'x'.repeat(1024) }, external()))
})

t.test('a record with a password in several places is refused unhashed (RES-11)', async (t) => {
  const { echo, local } = await start('password')
  const positions = Array.from({ length: 9990 }, (_, index) => [`password.${index}`, 'pony'])
  const password = 'pony'
  const cases: object[] = [
    Object.fromEntries(positions),
    { password, 'password.0': password },
    { password, $set: { password } },
    { $set: { password }, $setOnInsert: { password } },
    { $push: { $each: [{ password }, { password }] } },
    new Map<string, unknown>([
      ['password', password],
      ['$set', new Map([['password', password]])],
    ]),
    [{ password }, [{ password }, { password }]],
    [{ password }, { password: 7 }],
    [{ password }, { password: '' }],
    [{ password }, { password: 'x'.repeat(1025) }],
  ]
  for (const data of cases) {
    for (const params of [external(), {}]) {
      await t.rejects(
        echo.create(data, params),
        { name: 'BadRequest' },
        JSON.stringify(data).slice(0, 80),
      )
    }
  }
  await t.rejects(echo.create({ password, $set: { password } }, external()), {
    message: "'password' stands in 2 places of a record, which may have one password",
  })
  t.strictSame(local.hashed, [])
  const { echo: nested } = await start('profiles.password')
  const data = { profiles: [{ password }, { password }] }
  await t.rejects(nested.create(data), { code: 400, message: /'profiles\.password'/ })
})

t.test('what its strategy can not hash is refused unhashed (RES-11)', async (t) => {
  const local = new SpyStrategy()
  const fields = { usernameField: 'email', passwordField: 'password' }
  const settings = { local: { ...fields, hash: 'bcrypt' } }
  const { app } = await startLoginApp({ local, settings })
  app.use('echo', { create: async (data: unknown) => data })
  app.service('echo').hooks({ before: { create: [hashPassword('password')] } })
  local.hashed.length = 0
  const list = [{ password: 'pony' }, { password: 'x'.repeat(73) }]
  await t.rejects(app.service('echo').create(list), { code: 400, message: /72 bytes/ })
  t.strictSame(local.hashed, [])
  t.match(await app.service('echo').create(list.slice(0, 1)), [{ password: /^\$2b\$10\$/ }])
})

t.test('a list is refused unhashed where the service takes none (RES-11)', async (t) => {
  const { app, local } = await start('password')
  const list = [{ password: 'pony' }, { password: 'pony' }]
  const withPassword = resolve({
    properties: { password: passwordHash({ strategy: 'local' }) },
  })
  const hooks = [hashPassword('password'), resolveData(withPassword)]
  for (const [index, hook] of hooks.entries()) {
    const path = `members${index}`
    app.use(path, memory({ multi: index === 0 ? false : ['patch'] }))
    app.use(`${path}/many`, memory({ multi: ['create'] }))
    for (const one of [path, `${path}/many`]) {
      app.service(one).hooks({ before: { create: [hook as never] } })
    }
    local.hashed.length = 0
    const error = { name: 'MethodNotAllowed', code: 405, data: undefined }
    await t.rejects(app.service(path).create(list, external()), error)
    await t.rejects(app.service(path).create(list), error)
    t.strictSame(local.hashed, [])
    await t.resolves(app.service(`${path}/many`).create(list, external()))
    t.equal(local.hashed.length, 2)
  }
})

t.test('a call from outside has ten passwords at most (RES-11)', async (t) => {
  const { app, echo, local } = await start('password')
  const toList = (length: number) => Array.from({ length }, () => ({ password: 'pony' }))
  const withPassword = resolve({
    properties: { password: passwordHash({ strategy: 'local' }) },
  })
  app.use('others', { create: async (data: unknown) => data })
  app.service('others').hooks({ before: { create: [resolveData(withPassword)] } })
  for (const service of [echo, app.service('others')]) {
    local.hashed.length = 0
    const error = await service.create(toList(11), external()).catch((thrown: unknown) => thrown)
    t.match(JSON.stringify(error), /at most 10 records with a password/)
    t.match(error, { code: 400 })
    t.strictSame(local.hashed, [])
    await t.resolves(service.create(toList(10), external()))
    t.equal(local.hashed.length, 10)
    await t.resolves(service.create(toList(120)), 'inside the process')
  }
})

t.test('nothing is hashed for a caller who has gone (RES-11)', async (t) => {
  const { echo, local } = await start('password')
  const list = Array.from({ length: 5 }, () => ({ password: 'pony' }))
  const controller = new AbortController()
  local.gate = new Gate()
  const call = echo.create(list, external({ signal: controller.signal }))
  await local.gate.arrivals(1)
  controller.abort(new Error('gone'))
  local.gate.open()
  await t.rejects(call, { message: 'gone' })
  t.equal(local.hashed.length, 1)
})

t.test('works around, and nowhere else', async (t) => {
  const { app } = await startLoginApp()
  app.use('echo', { create: async (data: unknown) => data, find: async () => [] })
  const echo = app.service('echo')
  echo.hooks({ around: { create: [hashPassword('password')] } })
  t.match(await echo.create({ password: 'pony' }), { password: HASH })
  echo.hooks({ after: { find: [hashPassword('password')] } })
  await t.rejects(echo.find(), { message: /before or an around hook/ })
  t.throws(() => hashPassword(''), {
    message: 'The hashPassword hook requires a field name option',
  })
  t.throws(() => hashPassword('password', { stratgy: 'local' } as object), {
    message: "hashPassword(): unknown option 'stratgy'; did you mean 'strategy'?",
  })
  t.throws(() => passwordHash({ authentication: 'login' } as object), {
    message: "passwordHash(): unknown option 'authentication', allowed are service, strategy",
  })
})

t.test('says what is missing for hashing', async (t) => {
  const { echo } = await start('password', { strategy: 'other' })
  await t.rejects(echo.create({ password: 'x' }), {
    code: 400,
    message: "Could not find 'other' strategy to hash password",
  })
  const { echo: withJwt } = await start('password', { strategy: 'jwt' })
  await t.rejects(withJwt.create({ password: 'x' }), { code: 400 })
  const app = createApp()
  collectLog(app)
  app.use('echo', { create: async (data: unknown) => data })
  app.service('echo').hooks({ before: { create: [hashPassword('password')] } })
  await t.rejects(app.service('echo').create({ password: 'x' }), {
    code: 400,
    message: 'Could not find an authentication service to hash password',
  })
})

t.test('a property resolver hashes what is there', async (t) => {
  const { app } = await startLoginApp()
  const context = { app, params: {} } as HookContext
  const resolver = passwordHash({ strategy: 'local' })
  t.match(await resolver('pony', {}, context), HASH)
  t.equal(await resolver(undefined, {}, context), undefined)
  const named = passwordHash({ service: 'authentication', strategy: 'local' })
  t.match(await named('pony', {}, context), HASH)
  t.match(await resolver('pony', {}, { app } as HookContext), HASH, 'without a call')
})

t.test('registrations from one address leave others their logins (RES-11)', async (t) => {
  const { app, authentication, echo, local, users } = await start('password')
  const password = await local.hashPassword(CREDENTIALS.password)
  const emails = Array.from({ length: 20 }, (_, index) => `user${index}@example.org`)
  for (const [index, email] of emails.entries()) {
    await users.create({ id: 100 + index, email, password })
  }
  const settings = [
    { loginThrottle: true, provider: 'rest' },
    { loginThrottle: false, provider: 'rest' },
    // By a service of the application, which says who has called it.
    { loginThrottle: true, provider: undefined },
  ]
  for (const { loginThrottle, provider } of settings) {
    app.set('authentication', { ...authentication.configuration, loginThrottle })
    const flood = Array.from({ length: 200 }, () =>
      echo.create({ password: 'pony' }, { provider, address: '203.0.113.9' }),
    )
    const settling = Promise.allSettled(flood)
    const logins = emails.map((email, index) =>
      authentication.create({ ...CREDENTIALS, email }, external({ address: `192.0.2.${index}` })),
    )
    await t.resolves(Promise.all(logins))
    await t.resolves(echo.create({ password: 'pony' }, external({ address: '192.0.2.1' })))
    const refused = (await settling).filter(({ status }) => status === 'rejected')
    t.ok(refused.length >= 100)
    for (const { reason } of refused as PromiseRejectedResult[]) {
      t.match(reason, { code: 503, data: { retryAfter: 1 } })
    }
  }
})
