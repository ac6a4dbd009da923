import type { Test } from 'tap'
import { authenticate } from '../../src/auth/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import type { TestDatabase } from './database.ts'
import type { Tokens } from './test-app.ts'
import { startApp, withToken } from './test-app.ts'

export type { Tokens } from './test-app.ts'
export { ADA, claimsOf } from './test-app.ts'

/**
 * Starts a server with users, notes that need a login, and sessions, all of them empty.
 * @param sessions replaces options of `sessions`
 * @param settings replaces settings of the authentication service
 * @param configure adds to the application
 */
export async function startSessions(
  t: Test,
  database: TestDatabase,
  sessions: object = {},
  settings: object = {},
  configure: (app: FastifyApplication) => unknown = () => undefined,
) {
  const events: [name: string, value: unknown][] = []
  const app = await startApp(t, {
    database,
    plugins: [realtime()],
    accounts: {
      settings: {
        jwtOptions: { issuer: 'tests', audience: 'tests', expiresIn: '1d' },
        loginThrottle: { maxAttempts: 100 },
        // A slow machine may take longer for 50 refreshes than clients have for a lost answer.
        sessions: { service: 'sessions', graceMs: 600_000, ...sessions },
        ...settings,
      },
    },
    stores: { users: {}, sessions: { paginate: { default: 10 } }, notes: {} },
    hooks: {
      users: { before: { patch: [authenticate('jwt')] } },
      notes: { before: { all: [authenticate('jwt')] } },
    },
    configure(app) {
      configure(app)
      for (const name of ['login', 'reuse', 'sessionEnd']) {
        app.on(name, (value: unknown) => void events.push([name, value]))
      }
    },
  })
  await app.signUp()
  const readNotes = async ({ accessToken }: Tokens): Promise<number> =>
    (await app.request('/notes', { headers: withToken(accessToken) })).status
  return { ...app, events, withToken, readNotes, stored: database.db.collection('sessions') }
}
