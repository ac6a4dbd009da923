import type { Document } from 'mongodb'
import type { MongoDBOptions } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { hashPassword, protect } from '../../src/auth/index.ts'
import type { ServiceOptions } from '../../src/core/index.ts'
import type { Application, FastifyApplication } from '../../src/transport/index.ts'
import type { AccountOptions, Accounts } from './accounts.ts'
import { addAccounts } from './accounts.ts'
import type { TestDatabase } from './database.ts'
import type { Answer, ListeningServer, Mode, ServerOptions, TestScope } from './http.ts'
import { startServer } from './http.ts'

export const ADA = Object.freeze({ email: 'ada@example.org', password: 'correct horse' })

/** The response to a login or a refresh. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

/** Options of the `MongoDBService` of a collection, and of its registration. */
export interface StoreOptions extends Omit<Partial<MongoDBOptions>, 'Model'> {
  readonly service?: ServiceOptions
}

export interface TestAppOptions extends Omit<ServerOptions, 'services'> {
  /** Default: `'standalone'`. */
  readonly mode?: Mode
  /** Configured before the services. */
  readonly plugins?: readonly ((app: never) => unknown)[]
  /** Logins. Their users are in memory if there is no store `users`: Ada is there with the id 1. */
  readonly accounts?: AccountOptions
  /** Where the collections of `stores` are; they are emptied. */
  readonly database?: Pick<TestDatabase, 'db' | 'empty'>
  /** Collections that are served under their names. Passwords of `users` are hashed and not shown. */
  readonly stores?: Readonly<Record<string, StoreOptions>>
  /** Other services by their paths; those with options, or functions around them, as a list. */
  readonly services?: Readonly<Record<string, object | readonly unknown[]>>
  /** Hooks by the paths of services. */
  readonly hooks?: Readonly<Record<string, object>>
  /** Adds to the application when all of these are there. */
  readonly configure?: (app: FastifyApplication) => unknown
}

/** An application that listens on a free port until the test ends. */
export interface TestApp extends ListeningServer, Accounts {
  readonly server: ListeningServer
  /** Returns a registered service. */
  service(path: string): ReturnType<Application['service']>
  /** Signs a user up at `/users`. */
  signUp(data?: object): Promise<Answer>
  /** Logs a user in by a password; resolves to the tokens. */
  logIn(data?: object): Promise<Tokens>
  refresh(refreshToken: unknown): Promise<Answer>
}

/** Headers of a token. */
export const withToken = (accessToken: string) => ({ authorization: `Bearer ${accessToken}` })

/** Returns the claims of an access token. */
export const claimsOf = ({ accessToken }: Tokens) =>
  JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())

/** Starts an application with the services, collections and logins that a test names. */
export async function startApp(t: TestScope, options: TestAppOptions): Promise<TestApp> {
  const { mode = 'standalone', plugins = [], accounts, database, stores = {}, ...others } = options
  const { services = {}, hooks = {}, configure, ...serverOptions } = others
  await Promise.all(Object.keys(stores).map((name) => database?.empty(name)))
  let added: Accounts | undefined
  const addServices = (app: Application): unknown => {
    for (const plugin of plugins) app.configure(plugin as never)
    const users = 'users' in stores ? { users: null } : {}
    if (accounts !== undefined) added = addAccounts(app, { ...users, ...accounts })
    for (const [name, { service, ...store }] of Object.entries(stores)) {
      const Model = database?.db.collection<Document>(name) as never
      app.use(name, new MongoDBService({ Model, ...store }), service)
    }
    for (const [path, parts] of Object.entries(services)) {
      ;(app.use as (...given: unknown[]) => unknown).call(app, path, ...[parts].flat())
    }
    for (const [path, given] of Object.entries(hooks)) app.service(path).hooks(given as never)
    if ('users' in stores) {
      const hash = [hashPassword('password')]
      const hidden = [protect('password')]
      app.service('users').hooks({ before: { create: hash, patch: hash }, after: { all: hidden } })
    }
    return configure?.(app as FastifyApplication)
  }
  const server = await startServer(t, mode, { ...serverOptions, services: addServices })
  if (accounts?.users === undefined && !('users' in stores))
    await added?.addUser({ id: 1, email: ADA.email })
  const post = (path: string, data: object) => server.request(path, { data })
  return {
    ...server,
    ...(added as Accounts),
    server,
    service: (path) => server.app.service(path),
    signUp: (data = ADA) => post('/users', data),
    logIn: async (data = ADA) =>
      (await post('/authentication', { strategy: 'local', ...data })).body as Tokens,
    refresh: (refreshToken) => post('/authentication', { strategy: 'refresh', refreshToken }),
  }
}
