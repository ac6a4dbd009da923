import type { Test } from 'tap'
import type { AccountNotice, AccountOptions } from '../../src/auth/index.ts'
import { AccountService, authenticate } from '../../src/auth/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import type { TestDatabase } from './database.ts'
import type { OwnServerOptions } from './own-server.ts'
import type { Tokens } from './test-app.ts'
import { ADA, startApp, withToken } from './test-app.ts'
import { until } from './until.ts'

export { ADA } from './test-app.ts'
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
  database: TestDatabase,
  { options = {}, settings = {}, server: serverOptions = {}, configure }: AccountServerOptions = {},
) {
  const { db, empty } = database
  const stored = await empty('accountTokens')
  const mails: AccountNotice[] = []
  const indexes = [{ key: { email: 1 }, unique: true }] as const
  const app = await startApp(t, {
    ...serverOptions,
    database,
    accounts: {
      settings: {
        loginThrottle: { maxAttempts: 1000 },
        sessions: { service: 'sessions' },
        ...settings,
      },
    },
    stores: { sessions: {}, users: { indexes, service: { methods: ['get', 'create'] } } },
    hooks: { users: { before: { get: [authenticate('jwt')] } } },
    configure(app) {
      const notify = (mail: AccountNotice): unknown => mails.push(mail)
      const accounts = new AccountService(app, { notify, tokens: stored as never, ...options })
      app.use('accounts', accounts as never, { methods: [...ACCOUNT_METHODS] } as never)
      configure?.(app)
    },
  })
  const { server, request, refresh, logIn } = app
  for (const user of [ADA, BOB]) await app.signUp(user)
  const call = (method: AccountMethod, data: unknown, headers: Record<string, string> = {}) =>
    request('/accounts', {
      data,
      method: 'POST',
      headers: { 'x-service-method': method, ...headers },
    })
  return {
    ...{ server, mails, call, stored },
    authentication: app.authentication,
    logIn: (data: object = ADA) =>
      request('/authentication', { data: { strategy: 'local', ...data } }),
    accounts: app.service('accounts') as unknown as AccountService,
    users: db.collection('users'),
    /** Resolves to the headers of a login, and what renews it. */
    async open(data: object = ADA) {
      const { accessToken, refreshToken } = await logIn(data)
      return { headers: withToken(accessToken), refreshToken }
    },
    /** Resolves to the status of a refresh. */
    refresh: async ({ refreshToken }: Pick<Tokens, 'refreshToken'>) =>
      (await refresh(refreshToken)).status,
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
