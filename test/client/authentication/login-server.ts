import type { Accounts } from '../../support/accounts.ts'
import { addAccounts, addEcho } from '../../support/accounts.ts'
import type { ListeningServer, TestScope } from '../../support/http.ts'
import { startServer } from '../../support/http.ts'
import { CREDENTIALS } from '../../support/users.ts'

export { CREDENTIALS } from '../../support/users.ts'

/** The other user, with the same password. */
export const BEN = { ...CREDENTIALS, email: 'ben@example.org' }

/** A request as the server got it. */
interface SeenRequest {
  /** The HTTP method and the path below the prefix: `GET /echo`. */
  readonly line: string
  readonly authorization: string | undefined
}

export interface LoginServer extends ListeningServer, Pick<Accounts, 'authentication' | 'users'> {
  /** The requests so far. */
  readonly requests: SeenRequest[]
  /** Returns how many requests began with this method and path, and forgets none. */
  count(line: string): number
}

export interface LoginServerOptions {
  /** The path of the authentication service. Default: `'authentication'`. */
  readonly path?: string
  /** Settings of the authentication service. */
  readonly settings?: object
}

/**
 * Starts a server with two users, `echo` for members and `open` for everybody, which say what they
 * know of their caller.
 */
export async function startLoginServer(
  t: TestScope,
  { path = 'authentication', settings = {} }: LoginServerOptions = {},
): Promise<LoginServer> {
  const requests: SeenRequest[] = []
  let accounts: Accounts | undefined
  const server = await startServer(t, 'plugin', {
    services(app) {
      accounts = addAccounts(app, { path, settings })
      addEcho(app)
    },
    server: (fastify) =>
      fastify.addHook('onRequest', async ({ method, url, headers }) => {
        const line = `${method} ${url.replace('/api/v1', '')}`
        requests.push({ line, authorization: headers.authorization })
      }),
  })
  if (accounts === undefined) throw new Error('The services were not added')
  await accounts.addUser({ id: 1, email: CREDENTIALS.email })
  await accounts.addUser({ id: 2, email: BEN.email })
  return {
    ...server,
    ...accounts,
    requests,
    count: (line) => requests.filter((request) => request.line === line).length,
  }
}
