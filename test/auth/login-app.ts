import { SignJWT } from 'jose'
import type { AuthenticationParams } from '../../src/auth/index.ts'
import { JwtStrategy, LocalStrategy } from '../../src/auth/index.ts'
import type { Application } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { AccountOptions, Accounts } from '../support/accounts.ts'
import { addAccounts } from '../support/accounts.ts'
import { CREDENTIALS, SECRET, UserService } from '../support/users.ts'

export type { User } from '../support/users.ts'
export { CHEAP_SCRYPT, CREDENTIALS, LOCAL, SECRET, UserService } from '../support/users.ts'

export const AUDIENCE = 'https://yourdomain.com'
export const ISSUER = 'feathers'

interface LogLine {
  readonly level: string
  readonly details: Record<string, unknown>
  readonly message: string | undefined
}

export interface LoginApp extends Accounts {
  readonly app: Application
  readonly jwt: JwtStrategy
  /** What was logged, in its order. */
  readonly log: LogLine[]
}

export interface LoginAppOptions extends AccountOptions {
  readonly local?: LocalStrategy
  readonly jwt?: JwtStrategy
}

/** An application with users and the strategies `jwt` and `local`, not set up yet. */
export function createLoginApp(options: LoginAppOptions = {}): LoginApp {
  const { local = new LocalStrategy(), jwt = new JwtStrategy(), ...others } = options
  const { strategies, users = new UserService() } = others
  const app = createApp()
  const log = collectLog(app)
  const given = { ...others, users, strategies: { jwt, local, ...strategies } }
  return { app, jwt, log, ...addAccounts(app, given) }
}

/** The same, set up, with the user `ada@example.org` whose password is `correct horse`. */
export async function startLoginApp(options: LoginAppOptions = {}): Promise<LoginApp> {
  const started = createLoginApp(options)
  await started.app.setup()
  await started.addUser({ id: 1, email: CREDENTIALS.email })
  return started
}

/** Params of a call from outside. */
export function external(params: Partial<AuthenticationParams> = {}): AuthenticationParams {
  return { provider: 'rest', query: {}, headers: {}, ...params }
}

/** Has the application log into a list. */
export function collectLog(app: Application): LogLine[] {
  const log: LogLine[] = []
  const write = (level: string) => (details: object, message?: string) => {
    log.push({ level, details: details as Record<string, unknown>, message })
  }
  app.logger = { error: write('error'), warn: write('warn'), info: write('info') }
  return log
}

interface Forgery {
  readonly header?: Record<string, unknown>
  /** Over valid claims; `undefined` takes one away. */
  readonly claims?: Record<string, unknown>
  readonly secret?: string
}

/** Seconds since the epoch. */
export function now(): number {
  return Math.floor(Date.now() / 1000)
}

/** A token by an independent library: valid for user 1, but for what is said here. */
export function forge({ header, claims, secret = SECRET }: Forgery = {}): Promise<string> {
  const payload = {
    iat: now(),
    exp: now() + 600,
    aud: AUDIENCE,
    iss: ISSUER,
    sub: '1',
    jti: 'b1b0f6f2-5a1f-4f8a-8f5a-1d1d8a3a3b5e',
    ...claims,
  }
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256', typ: 'access', ...header })
    .sign(new TextEncoder().encode(secret))
}

/** Runs a function at another time of the wall clock. */
export async function atTime<T>(milliseconds: number, run: () => Promise<T>): Promise<T> {
  const original = Date.now
  Date.now = () => milliseconds
  try {
    return await run()
  } finally {
    Date.now = original
  }
}
