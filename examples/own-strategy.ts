// A custom strategy: a reverse proxy logs users in, and names them in a header. The header only counts together with
// the secret of the proxy. Try the lines it prints. `npx tsx node_modules/remex/examples/own-strategy.ts`. Reads PORT
// (3030), HOST (127.0.0.1), PROXY_SECRET and AUTH_SECRET (new ones at each start by default).
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Application, AuthenticationRequest, Params } from 'remex'
import { createApp, fastifyApp, NotAuthenticated, rest } from 'remex'
import type { AuthenticationHttpRequest, AuthenticationResult } from 'remex/auth'
import { AuthenticationBaseStrategy, AuthenticationService, authenticate } from 'remex/auth'

/** Trusts the header `X-Forwarded-User` of a caller that knows `authentication.<name>.proxySecret`. */
export class ProxyStrategy extends AuthenticationBaseStrategy {
  /** Describes the strategy in the document of `openapi()`. */
  readonly securityScheme = { type: 'apiKey', in: 'header', name: 'X-Forwarded-User' }

  parse({ headers }: AuthenticationHttpRequest): AuthenticationRequest | null {
    const { 'x-forwarded-user': person, 'x-proxy-secret': proxySecret } = headers
    return typeof person === 'string' ? { strategy: this.name, person, proxySecret } : null
  }

  async authenticate(request: AuthenticationRequest): Promise<AuthenticationResult> {
    const { person, proxySecret } = request
    const isProxy =
      typeof proxySecret === 'string' &&
      // Compares in constant time, so that timing reveals nothing.
      timingSafeEqual(toHash(proxySecret), toHash(String(this.configuration['proxySecret'])))
    if (!isProxy || typeof person !== 'string' || person === '') {
      throw new NotAuthenticated('Log in at the proxy')
    }
    return { authentication: { strategy: this.name }, person: { name: person } }
  }
}

/** Returns a hash, so that strings of any length can be compared. */
function toHash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Registers the service `reports`, for users that the proxy has logged in. */
export function addReports(app: Application, proxySecret: string): void {
  const authentication = new AuthenticationService(app, 'authentication', {
    secret: process.env['AUTH_SECRET'] ?? randomBytes(32).toString('base64url'),
    entity: null,
    authStrategies: ['proxy'],
    proxy: { proxySecret },
  })
  authentication.register('proxy', new ProxyStrategy())
  app.use('authentication', authentication)
  app.use('reports', {
    async find(params: Params & { person?: { name: string } }) {
      return [{ title: `A report for ${params.person?.name}` }]
    },
  })
  app.service('reports').hooks({ before: { all: [authenticate('proxy')] } })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1' } = process.env
  const proxySecret = process.env['PROXY_SECRET'] ?? randomBytes(32).toString('base64url')
  const app = createApp()
  addReports(app, proxySecret)
  const server = fastifyApp(app)
  server.configure(rest())
  await server.listen({ port: Number(PORT), host: HOST })
  console.log(`Reports at http://${HOST}:${PORT}/reports

  curl http://${HOST}:${PORT}/reports -H 'x-forwarded-user: ada' -H 'x-proxy-secret: ${proxySecret}'
  curl http://${HOST}:${PORT}/reports -H 'x-forwarded-user: ada'

Ctrl-C ends it.`)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
