import type { AuthenticationStrategy } from '../../src/auth/index.ts'
import {
  AuthenticationService,
  authenticate,
  JwtStrategy,
  LocalStrategy,
} from '../../src/auth/index.ts'
import type { ServiceOptions } from '../../src/core/index.ts'
import type { Application, Params } from '../../src/transport/index.ts'
import type { Answer, TestServer } from './http.ts'
import { CREDENTIALS, LOCAL, SECRET, UserService } from './users.ts'

/** The part of a server that requests need. */
export type Server = Pick<TestServer, 'request'>

export interface AccountOptions {
  /** Path of the authentication service. Default: `'authentication'`. */
  readonly path?: string
  /** Key of the setting. Default: `'authentication'`. */
  readonly key?: string
  /** Over the usual settings, key by key. */
  readonly settings?: object
  /** Beside `jwt` and `local`, or in their place; `undefined` removes one. */
  readonly strategies?: Readonly<Record<string, AuthenticationStrategy | undefined>>
  /** The service of the users; `null` if the test adds it. Default: users in memory. */
  readonly users?: object | null
  /** Options of the authentication service. */
  readonly service?: ServiceOptions
}

export interface Accounts {
  readonly authentication: AuthenticationService
  readonly local: LocalStrategy
  readonly users: UserService
  /** Stores a user with the password of {@link CREDENTIALS}. */
  addUser(fields: { readonly id: number; readonly email: string }): Promise<void>
}

/** Adds an authentication service with the strategies `jwt` and `local`, and its users, to any application. */
export function addAccounts(app: object, options: AccountOptions = {}): Accounts {
  const { key = 'authentication', path = 'authentication', users = new UserService() } = options
  const usual = { jwt: new JwtStrategy(), local: new LocalStrategy() }
  const strategies: NonNullable<AccountOptions['strategies']> = { ...usual, ...options.strategies }
  const local = strategies['local'] as LocalStrategy
  const settings: Record<string, unknown> & { readonly service: string } = {
    ...{ secret: SECRET, entity: 'user', service: 'users' },
    authStrategies: ['jwt', 'local'].filter((name) => strategies[name] !== undefined),
    ...(local === undefined ? {} : { local: LOCAL }),
    ...options.settings,
  }
  const to = app as Application
  const authentication = new AuthenticationService(to, key, settings)
  for (const [name, strategy] of Object.entries(strategies)) {
    if (strategy !== undefined) authentication.register(name, strategy)
  }
  if (users !== null) to.use(settings.service, users as UserService)
  if (options.users === undefined) {
    to.service(settings.service).hooks({ around: { all: [hidePassword] } })
  }
  to.use(path, authentication, options.service)
  return {
    authentication,
    local,
    users: users as UserService,
    async addUser(fields) {
      const password = await local?.hashPassword(CREDENTIALS.password)
      await to.service(settings.service).create({ ...fields, password })
      if (users instanceof UserService) users.takeCalls()
    },
  }
}

async function hidePassword(
  context: { result?: unknown; dispatch?: unknown },
  next: () => Promise<void>,
): Promise<void> {
  await next()
  const hide = ({ password: _password, ...others }: Record<string, unknown>) => others
  const { result } = context
  context.dispatch = Array.isArray(result)
    ? result.map(hide)
    : hide(result as Record<string, unknown>)
}

/** What a call of the service `echo` had in its params, but for the service's own business. */
interface Echo {
  provider?: string
  query?: object
  route?: object
  authentication?: { strategy: string; payload?: { sub?: string } }
  user?: { email?: string }
}

/** Adds a service that answers what it knows of its caller: `echo`, and `open` without protection. */
export function addEcho(to: object, ...strategies: string[]): void {
  const app = to as Application
  const find = async ({ provider, query, route, authentication, user }: Params) => {
    const email = (user as Echo['user'])?.email
    return { provider, query, route, authentication, ...(email ? { user: { email } } : {}) }
  }
  const create = (_data: object, params: Params) => find(params)
  app.use('echo', { find, create })
  app.use('open', { find, create })
  app.use('open/:userId/notes', { find, create })
  const [first = 'jwt', ...others] = strategies
  app.service('echo').hooks({ before: { all: [authenticate(first, ...others)] } })
}

/** Logs the user of {@link CREDENTIALS} in. Returns the token. */
export async function logIn(server: Server, path = '/authentication'): Promise<string> {
  const { status, body, text } = await server.request(path, { data: CREDENTIALS })
  if (status !== 201) throw new Error(`The login answered ${status} ${text}`)
  return (body as { accessToken: string }).accessToken
}

/** Headers with a token. */
export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** What the caller is told, without the class of the error. */
export function refusalOf({ status, body }: Answer): [status: number, message: unknown] {
  return [status, (body as { message?: unknown } | undefined)?.message]
}
