// A strategy of one's own: programs prove who they are by a key in a header. Try the lines it
// prints. `npx tsx node_modules/remex/examples/api-key.ts`. Reads PORT (3030), HOST (127.0.0.1) and
// AUTH_SECRET (a new secret for each start when it is not set).
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Application, AuthenticationRequest, Params } from 'remex'
import { createApp, fastifyApp, NotAuthenticated, rest } from 'remex'
import type { AuthenticationHttpRequest, AuthenticationResult } from 'remex/auth'
import { AuthenticationBaseStrategy, AuthenticationService, authenticate } from 'remex/auth'

/** Who has a key. Of the key itself only the hash is kept: it is random and long, so this is enough. */
interface Client {
  readonly name: string
  readonly keyHash: string
}

/** Proves that a program has one of the keys of the setting `authentication.<name>.clients`. */
export class ApiKeyStrategy extends AuthenticationBaseStrategy {
  /** What documents of `openapi()` say of it. */
  readonly securityScheme = { type: 'apiKey', in: 'header', name: 'X-API-Key' }

  parse(request: AuthenticationHttpRequest): AuthenticationRequest | null {
    const apiKey = request.headers['x-api-key']
    return typeof apiKey === 'string' ? { strategy: this.name, apiKey } : null
  }

  async authenticate(request: AuthenticationRequest): Promise<AuthenticationResult> {
    const { apiKey } = request
    if (typeof apiKey !== 'string') throw new NotAuthenticated('Invalid API key')
    const hash = hashKey(apiKey)
    const clients = this.configuration['clients'] as readonly Client[]
    // All of them are compared, in constant time: how long it takes tells nothing.
    const [client] = clients.filter(({ keyHash }) =>
      timingSafeEqual(hash, Buffer.from(keyHash, 'hex')),
    )
    if (client === undefined) throw new NotAuthenticated('Invalid API key')
    return { authentication: { strategy: this.name }, client: { name: client.name } }
  }
}

/** Returns the hash of a key, as it stands in the settings. */
export function hashKey(apiKey: string): Buffer {
  return createHash('sha256').update(apiKey).digest()
}

/** Registers the service `reports`, which only programs with a key can read. */
export function addReports(app: Application, clients: readonly Client[]): void {
  const authentication = new AuthenticationService(app, 'authentication', {
    secret: process.env['AUTH_SECRET'] ?? randomBytes(32).toString('base64url'),
    entity: null,
    authStrategies: ['api-key'],
    'api-key': { clients },
  })
  authentication.register('api-key', new ApiKeyStrategy())
  app.use('authentication', authentication)
  app.use('reports', {
    async find(params: Params & { client?: { name: string } }) {
      return [{ title: `A report for ${params.client?.name}` }]
    },
  })
  app.service('reports').hooks({ before: { all: [authenticate('api-key')] } })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1' } = process.env
  // Yours stand in your settings, as hashes.
  const apiKey = randomBytes(32).toString('base64url')
  const keyHash = hashKey(apiKey).toString('hex')
  const app = createApp()
  addReports(app, [{ name: 'the dashboard', keyHash }])
  const server = fastifyApp(app)
  server.configure(rest())
  await server.listen({ port: Number(PORT), host: HOST })
  console.log(`Reports at http://${HOST}:${PORT}/reports

  curl http://${HOST}:${PORT}/reports -H 'x-api-key: ${apiKey}'
  curl http://${HOST}:${PORT}/reports

Ctrl-C ends it.`)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
