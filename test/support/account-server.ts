import type { Test } from 'tap'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import type { AccountNotice, AccountOptions } from '../../src/auth/index.ts'
import {
  AccountService,
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from '../../src/auth/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import type { TestDatabase } from './database.ts'
import type { OwnServerOptions } from './own-server.ts'
import { startOwnServer } from './own-server.ts'
import type { Tokens } from './session-server.ts'
import { until } from './until.ts'
import { CHEAP_SCRYPT, SECRET } from './users.ts'

export const ADA = { email: 'ada@example.org', password: 'correct horse' }
export const BOB = { email: 'bob@example.org', password: 'bobs own horse' }

export const ACCOUNT_METHODS = [
  ...(['requestVerification', 'verifyEmail', 'requestReset'] as const),
  ...(['resetPassword', 'changePassword', 'changeEmail'] as const),
] as const

export type AccountMethod = (typeof ACCOUNT_METHODS)[number]

export interface AccountServerOptions {
  /** Over those of the service. */
  readonly options?: Partial<AccountOptions>
  /** Over the settings of the authentication service; `sessions: undefined` has none. */
  readonly settings?: object
  readonly server?: OwnServerOptions
  /** Called when all services are there. */
  readonly configure?: (app: FastifyApplication) => unknown
}

/** Starts a server with the users Ada and Bob, sessions and accounts, in an empty database. */
export async function startAccounts(
  t: Test,
  { db, empty }: TestDatabase,
  { options = {}, settings = {}, server: serverOptions = {}, configure }: AccountServerOptions = {},
) {
  await Promise.all(['users', 'sessions', 'accountTokens'].map((name) => empty(name)))
  const mails: AccountNotice[] = []
  let authentication: AuthenticationService | undefined
  const addServices = (app: FastifyApplication) => {
    app.set('authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
      local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
      loginThrottle: { maxAttempts: 1000 },
      sessions: { service: 'sessions' },
      ...settings,
    })
    authentication = new AuthenticationService(app)
    authentication.register('local', new LocalStrategy()).register('jwt', new JwtStrategy())
    app.use('authentication', authentication as never)
    app.use('sessions', new MongoDBService({ Model: db.collection('sessions') }) as never)
    const indexes = [{ key: { email: 1 }, unique: true }] as const
    const users = new MongoDBListService({ Model: db.collection('users'), indexes } as never)
    app.use('users', users as never, { methods: ['get', 'create'] } as never)
    app.service('users').hooks({
      before: {
        get: [authenticate('jwt')],
        create: [hashPassword('password')],
        patch: [hashPassword('password')],
      },
      after: { all: [protect('password')] },
    } as never)
    const accounts = new AccountService(app, {
      notify: (mail) => void mails.push(mail),
      tokens: db.collection('accountTokens'),
      ...options,
    })
    app.use('accounts', accounts as never, { methods: [...ACCOUNT_METHODS] } as never)
    configure?.(app)
  }
  const server = await startOwnServer(t, addServices, serverOptions)
  for (const data of [ADA, BOB]) await server.request('/users', { data })
  const call = (method: AccountMethod, data: unknown, headers: Record<string, string> = {}) =>
    server.request('/accounts', {
      data,
      method: 'POST',
      headers: { 'x-service-method': method, ...headers },
    })
  const logIn = (data: object = ADA) =>
    server.request('/authentication', { data: { strategy: 'local', ...data } })
  return {
    ...{ server, mails, call, logIn },
    authentication: authentication as unknown as AuthenticationService,
    accounts: server.app.service('accounts') as unknown as AccountService,
    users: db.collection('users'),
    stored: db.collection('accountTokens'),
    /** Resolves to the headers of a login, and what renews it. */
    async open(data: object = ADA) {
      const { accessToken, refreshToken } = (await logIn(data)).body as Tokens
      return { headers: { authorization: `Bearer ${accessToken}` }, refreshToken }
    },
    /** Resolves to the status of a refresh. */
    async refresh({ refreshToken }: { readonly refreshToken: string }): Promise<number> {
      const data = { strategy: 'refresh', refreshToken }
      return (await server.request('/authentication', { data })).status
    },
    /** Calls a method, and resolves to the token of the mail that it sends. */
    async mailOf(
      method: AccountMethod,
      data: object,
      headers: Record<string, string> = {},
    ): Promise<string> {
      const count = mails.length
      const { status, text } = await call(method, data, headers)
      if (status !== 200) throw new Error(`${method} answered ${status} ${text}`)
      await until(() => mails.length > count)
      return mails.at(-1)?.token ?? ''
    },
  }
}
