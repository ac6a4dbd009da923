import type { Test } from 'tap'
import { MongoDBListService, MongoDBService } from '../../src/adapter/index.ts'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from '../../src/auth/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import type { TestDatabase } from './database.ts'
import { startOwnServer } from './own-server.ts'
import { CHEAP_SCRYPT, SECRET } from './users.ts'

export const ADA = { email: 'ada@example.org', password: 'correct horse' }

/** What a login or a refresh answers. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

/**
 * Starts a server with users, notes that need a login, and sessions, all of them empty.
 * @param sessions replaces options of `sessions`
 * @param settings replaces settings of the authentication service
 * @param configure adds to the application
 */
export async function startSessions(
  t: Test,
  { db, empty }: TestDatabase,
  sessions: object = {},
  settings: object = {},
  configure: (app: FastifyApplication) => unknown = () => undefined,
) {
  await Promise.all(['users', 'sessions', 'notes'].map((name) => empty(name)))
  let authentication: AuthenticationService | undefined
  const events: [name: string, value: unknown][] = []
  const server = await startOwnServer(t, (app: FastifyApplication) => {
    app.set('authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
      jwtOptions: { issuer: 'tests', audience: 'tests', expiresIn: '1d' },
      local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
      loginThrottle: { maxAttempts: 100 },
      // A slow machine may take longer for 50 refreshes than clients have for a lost answer.
      sessions: { service: 'sessions', graceMs: 600_000, ...sessions },
      ...settings,
    })
    app.configure(realtime())
    authentication = new AuthenticationService(app)
    authentication.register('local', new LocalStrategy()).register('jwt', new JwtStrategy())
    app.use('authentication', authentication as never)
    app.use('users', new MongoDBListService({ Model: db.collection('users') }) as never)
    app.service('users').hooks({
      before: {
        create: [hashPassword('password')],
        patch: [authenticate('jwt'), hashPassword('password')],
      },
      after: { all: [protect('password')] },
    } as never)
    app.use(
      'sessions',
      new MongoDBService({ Model: db.collection('sessions'), paginate: { default: 10 } }) as never,
    )
    app.use('notes', new MongoDBService({ Model: db.collection('notes') }) as never)
    app.service('notes').hooks({ before: { all: [authenticate('jwt')] } } as never)
    configure(app)
    for (const name of ['login', 'reuse', 'sessionEnd']) {
      app.on(name, (value: unknown) => void events.push([name, value]))
    }
  })
  await server.request('/users', { data: ADA })
  const post = async (data: object) => server.request('/authentication', { data })
  const logIn = async (): Promise<Tokens> =>
    (await post({ strategy: 'local', ...ADA })).body as Tokens
  const refresh = (refreshToken: unknown) => post({ strategy: 'refresh', refreshToken })
  const withToken = (accessToken: string) => ({ authorization: `Bearer ${accessToken}` })
  const readNotes = async ({ accessToken }: Tokens): Promise<number> =>
    (await server.request('/notes', { headers: withToken(accessToken) })).status
  return {
    ...{ server, events, logIn, refresh, withToken, readNotes },
    authentication: authentication as unknown as AuthenticationService,
    stored: db.collection('sessions'),
  }
}

/** Returns the claims of an access token. */
export const claimsOf = ({ accessToken }: Tokens) =>
  JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
