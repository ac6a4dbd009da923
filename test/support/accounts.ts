import type { AuthenticationStrategy } from '../../src/auth/index.ts'
import {
  AuthenticationService,
  authenticate,
  JwtStrategy,
  LocalStrategy,
} from '../../src/auth/index.ts'
import type { Application, Params } from '../../src/transport/index.ts'
import type { Answer, TestServer } from './http.ts'
import { CHEAP_SCRYPT, CREDENTIALS, SECRET, UserService } from './users.ts'

/** The part of a server that requests need. */
export type Server = Pick<TestServer, 'request'>

export interface AccountOptions {
  /** Path of the authentication service. Default: `'authentication'`. */
  readonly path?: string
  /** Key of the setting. Default: `'authentication'`. */
  readonly key?: string
  /** Path of the users. Default: `'users'`. */
  readonly users?: string
  /** Over the usual settings, key by key. */
  readonly settings?: object
  /** Beside `jwt` and `local`, or in their place. */
  readonly strategies?: Readonly<Record<string, AuthenticationStrategy>>
}

export interface Accounts {
  readonly authentication: AuthenticationService
  readonly users: UserService
  /** Stores a user with the password of {@link CREDENTIALS}. */
  addUser(fields: { readonly id: number; readonly email: string }): Promise<void>
}

/** Adds users in memory, and the authentication service that logs them in. */
export function addAccounts(app: Application, options: AccountOptions = {}): Accounts {
  const { path = 'authentication', key = 'authentication', users: usersPath = 'users' } = options
  const local = new LocalStrategy()
  const authentication = new AuthenticationService(app, key, {
    secret: SECRET,
    entity: 'user',
    service: usersPath,
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
    ...options.settings,
  })
  const strategies = { jwt: new JwtStrategy(), local, ...options.strategies }
  for (const [name, strategy] of Object.entries(strategies)) authentication.register(name, strategy)
  const users = new UserService()
  app.use(usersPath, users)
  app.service(usersPath).hooks({ around: { all: [hidePassword] } })
  app.use(path, authentication)
  return {
    authentication,
    users,
    async addUser(fields) {
      await users.create({ ...fields, password: await local.hashPassword(CREDENTIALS.password) })
      users.takeCalls()
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
export function addEcho(app: Application, ...strategies: string[]): void {
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
