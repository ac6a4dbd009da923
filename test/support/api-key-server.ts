import type { Test } from 'tap'
import { ApiKeyStrategy, authenticate, JwtStrategy, requireScope } from '../../src/auth/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import type { TestDatabase } from './database.ts'
import type { OwnServerOptions } from './own-server.ts'
import { startApp, withToken } from './test-app.ts'

/** What the creation of a key answers. */
export interface CreatedKey {
  readonly _id: string
  readonly key: string
  readonly start: string
}

export interface KeyServerOptions extends OwnServerOptions {
  /** Options of the strategy over those of the tests. */
  readonly section?: object
  /** Settings of the authentication service over those of the tests. */
  readonly settings?: object
  /** A strategy in the place of the usual `JwtStrategy`. */
  readonly jwt?: JwtStrategy
}

/** Finds users who are not blocked. */
export class UnblockedUsers extends JwtStrategy {
  override getEntityQuery(): Record<string, unknown> {
    return { isBlocked: { $ne: true } }
  }
}

/**
 * Starts a server with users, their API keys, and notes that tokens and keys read: `GET` needs the scope `notes:read`,
 * `POST` needs `notes:write`. What hooks of notes find in `params.authentication` is in `seen`.
 */
export async function startKeys(
  t: Test,
  database: TestDatabase,
  { section, settings, jwt = new JwtStrategy(), ...options }: KeyServerOptions = {},
) {
  const seen: HookContext['params']['authentication'][] = []
  const created: unknown[] = []
  const see = ({ params }: HookContext): void => void seen.push(params.authentication)
  const app = await startApp(t, {
    ...options,
    database,
    plugins: [realtime()],
    accounts: {
      strategies: { jwt, 'api-key': new ApiKeyStrategy() },
      settings: {
        parseStrategies: ['jwt', 'api-key'],
        jwtOptions: { issuer: 'tests', audience: 'tests', expiresIn: '1d' },
        loginThrottle: { maxAttempts: 100 },
        'api-key': {
          ...{ service: 'api-keys', prefix: 'acme', scopes: ['notes:read', 'notes:write'] },
          ...section,
        },
        ...settings,
      },
    },
    stores: {
      ...{ users: {}, notes: {} },
      'api-keys': { paginate: { default: 10 } },
      sessions: { paginate: { default: 10 } },
    },
    hooks: {
      notes: {
        around: { all: [authenticate('jwt', 'api-key')] },
        before: {
          find: [see, requireScope('notes:read')],
          create: [see, requireScope('notes:write')],
        },
      },
    },
    configure: (app) =>
      app.service('api-keys').on('created', (record: unknown) => created.push(record)),
  })
  const { server } = app
  const withKey = (key: string) => ({ 'x-api-key': key })

  /** Resolves to the headers and the id of a new user. */
  const signUp = async (email: string) => {
    const credentials = { email, password: 'correct horse' }
    const { body } = await app.signUp(credentials)
    const data = { strategy: 'local', ...credentials }
    const login = await server.request('/authentication', { data })
    const { accessToken } = login.body as { accessToken: string }
    return { id: (body as { _id: string })._id, headers: withToken(accessToken), login: login.body }
  }
  const ada = await signUp('ada@example.org')
  const createKey = async (data: object = {}, { headers } = ada): Promise<CreatedKey> => {
    const key = { name: 'backup', scopes: ['notes:read'], ...data }
    const { body } = await server.request('/api-keys', { headers, data: key })
    return body as CreatedKey
  }
  const readNotes = async (key: string): Promise<number> =>
    (await server.request('/notes', { headers: withKey(key) })).status
  const stored = database.db.collection('api-keys')
  return { server, ada, seen, created, signUp, createKey, readNotes, withKey, withToken, stored }
}
