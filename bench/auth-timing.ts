import { parseArgs } from 'node:util'
import bcrypt from 'bcryptjs'
import type { Params } from 'remex'
import { createApp } from 'remex'
import { AuthenticationService, LocalStrategy } from 'remex/auth'
import { toMedian } from './statistics.ts'

// Whether the time that a failing login takes tells who has an account:
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

const users = new Map<string, User>()
const app = createApp()
app.logger = { error: ignore, warn: ignore, info: ignore }
const authentication = new AuthenticationService(app, 'authentication', {
  secret: 'a secret of the benchmark, with 32 bytes and more',
  entity: 'user',
  service: 'users',
  authStrategies: ['local'],
  loginThrottle: false,
  local: { usernameField: 'email', passwordField: 'password', scrypt: SCRYPT },
})
const local = new LocalStrategy()
authentication.register('local', local)
app.use('users', { id: 'id', find: findUsers })
app.use('authentication', authentication)
await app.setup()
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
if (values.gate && !isMet) process.exitCode = 1

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
