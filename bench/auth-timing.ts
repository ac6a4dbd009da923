import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import bcrypt from 'bcryptjs'
import type { Application, Params } from 'remex'
import { createApp } from 'remex'
import type { PasswordOptions } from 'remex/auth'
import { AuthenticationService, hashPassword, LocalStrategy } from 'remex/auth'
import { toMedian } from './statistics.ts'

// Whether the time that a failing login takes tells who has an account, and how long a login takes beside 20
// registrations a second from one address, with hashes as they are by default:
// node build/bench/auth-timing.js [--quick] [--gate]

interface User {
  readonly id: number
  readonly email: string
  readonly password?: string
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
  strict: false,
})
const SAMPLES = values.quick ? 60 : 300
const MAX_DIFFERENCE = 0.05

/** Cheaper than the default, so that 1,200 hashes take a minute; a difference would show all the more. */
const SCRYPT = { cost: 2 ** 14, blockSize: 8, parallelization: 1 }

/** A fifth of this scrypt, as the usual 10 is of the default one. */
const BCRYPT_COST = 7

const LOGINS = values.quick ? 8 : 20
const LOGIN_EVERY_MS = 200
const REGISTER_EVERY_MS = 50
const MAX_LOGIN_MS = 1000

const users = new Map<string, User>()
const { app, local } = await startLogins(SCRYPT)
const password = await local.hashPassword('the right password')
for (const user of [
  { id: 1, email: 'ada@example.org', password },
  { id: 2, email: 'bob@example.org' },
  { id: 3, email: 'eve@example.org', password: await bcrypt.hash('the right one', BCRYPT_COST) },
]) {
  users.set(user.email, user)
}

const BRANCHES: Readonly<Record<string, string>> = {
  'unknown user': 'nobody@example.org',
  'wrong password': 'ada@example.org',
  'user without password': 'bob@example.org',
  'wrong password, bcrypt': 'eve@example.org',
}

const times = await measure()
const medians = Object.entries(times).map(([name, samples]) => ({ name, ms: toMedian(samples) }))
const fastest = Math.min(...medians.map(({ ms }) => ms))
console.log(`${SAMPLES} samples of each way to fail, in turn`)
for (const { name, ms } of medians) {
  const difference = `+${((100 * (ms - fastest)) / fastest).toFixed(2)} %`
  console.log(`${name.padEnd(24)} ${ms.toFixed(2).padStart(8)} ms ${difference.padStart(9)}`)
}
const isMet = medians.every(({ ms }) => ms <= fastest * (1 + MAX_DIFFERENCE))
console.log(isMet ? 'met: the medians are within 5 %' : 'MISSED: the medians differ by more')

const { alone, beside, refused } = await measureFlood()
const isQuick = beside <= MAX_LOGIN_MS
console.log(`${LOGINS} logins from as many addresses beside 20 registrations a second from one`)
console.log(
  `median ${beside.toFixed(0)} ms, alone ${alone.toFixed(0)} ms; ${refused} registrations were refused`,
)
console.log(isQuick ? 'met: the median is below a second' : 'MISSED: the median is above a second')
if (values.gate && !(isMet && isQuick)) process.exitCode = 1

async function startLogins(
  scrypt: PasswordOptions,
): Promise<{ readonly app: Application; readonly local: LocalStrategy }> {
  const app = createApp()
  app.logger = { error: ignore, warn: ignore, info: ignore }
  const authentication = new AuthenticationService(app, 'authentication', {
    secret: 'a secret of the benchmark, with 32 bytes and more',
    entity: 'user',
    service: 'users',
    authStrategies: ['local'],
    loginThrottle: false,
    local: { usernameField: 'email', passwordField: 'password', scrypt },
  })
  const local = new LocalStrategy()
  authentication.register('local', local)
  app.use('users', {
    id: 'id',
    find: findUsers,
    get: async (id: unknown) => ({ id }),
    create: async () => ({}),
  })
  app.service('users').hooks({ before: { create: [hashPassword('password')] } })
  app.use('authentication', authentication)
  await app.setup()
  return { app, local }
}

interface Flood {
  /** The median of logins without registrations, in ms. */
  readonly alone: number
  readonly beside: number
  /** How many registrations were answered 503. */
  readonly refused: number
}

async function measureFlood(): Promise<Flood> {
  const { app, local } = await startLogins({})
  const email = 'ann@example.org'
  const password = 'the right password'
  users.set(email, { id: 4, email, password: await local.hashPassword(password) })
  const registrations: AbortController[] = []
  let refused = 0
  const register = (): void => {
    const controller = new AbortController()
    const { signal } = controller
    registrations.push(controller)
    const params = { provider: 'rest', query: {}, address: '203.0.113.9', signal }
    const count = (): void => {
      if (!signal.aborted) refused += 1
    }
    app.service('users').create({ email: 'new@example.org', password }, params).catch(count)
  }
  const measureLogins = async (): Promise<number> => {
    const times: number[] = []
    for (let index = 0; index < LOGINS; index += 1) {
      times.push(await logIn(app, { email, password }, `192.0.2.${index}`))
      await delay(LOGIN_EVERY_MS)
    }
    return toMedian(times)
  }
  const alone = await measureLogins()
  const flood = setInterval(register, REGISTER_EVERY_MS)
  // Until the queue is full: it holds fifty.
  for (let index = 0; index < 60; index += 1) register()
  const beside = await measureLogins()
  clearInterval(flood)
  for (const controller of registrations) controller.abort()
  return { alone, beside, refused }
}

async function logIn(app: Application, credentials: object, address: string): Promise<number> {
  const start = performance.now()
  const data = { strategy: 'local', ...credentials }
  await app.service('authentication').create(data, { provider: 'rest', query: {}, address })
  return performance.now() - start
}

/** One sample of each branch after the other, so that whatever disturbs one disturbs all. */
async function measure(): Promise<Record<string, number[]>> {
  const samples: Record<string, number[]> = {}
  const names = Object.keys(BRANCHES)
  for (let round = -5; round < SAMPLES; round += 1) {
    const turn = Math.abs(round) % names.length
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const ms = await failLogin(BRANCHES[name] ?? '')
      // The first rounds are for the compiler.
      if (round >= 0) samples[name] = [...(samples[name] ?? []), ms]
    }
  }
  return samples
}

async function failLogin(email: string): Promise<number> {
  const data = { strategy: 'local', email, password: 'the wrong password' }
  const start = performance.now()
  try {
    await app.service('authentication').create(data, { provider: 'rest', query: {} })
  } catch {
    return performance.now() - start
  }
  throw new Error(`The login of ${email} did not fail`)
}

async function findUsers(params: Params): Promise<User[]> {
  const user = users.get(String(params.query?.['email']))
  return user === undefined ? [] : [user]
}

function ignore(): void {
  // What fails here fails on purpose.
}
