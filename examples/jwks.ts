// Another login service issues the tokens, such as better-auth with its plugin jwt, Auth0 or Keycloak: a custom strategy
// checks them by the keys that it publishes. `npx tsx node_modules/remex/examples/jwks.ts`. Reads PORT (3030),
// HOST (127.0.0.1), and for the login service ISSUER, AUDIENCE and JWKS_URL.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { JWTVerifyGetKey } from 'jose'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { AuthenticationRequest, FastifyApplication, Params } from 'remex'
import { createApp, fastifyApp, NotAuthenticated, rest } from 'remex'
import type { AuthenticationHttpRequest, AuthenticationResult } from 'remex/auth'
import { AuthenticationBaseStrategy, AuthenticationService, authenticate } from 'remex/auth'

export interface Issuer {
  /** The `iss` of its tokens. */
  readonly issuer: string
  /** The `aud` of the tokens that it issues for this application. */
  readonly audience: string
  /** Finds the key of a token. */
  readonly keys: JWTVerifyGetKey
}

export interface User {
  readonly id: string
  readonly email: unknown
}

/** Accepts the access tokens of another login service. */
export class IssuerStrategy extends AuthenticationBaseStrategy {
  readonly securityScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
  readonly #issuer: Issuer

  constructor(issuer: Issuer) {
    super()
    this.#issuer = issuer
  }

  parse({ headers }: AuthenticationHttpRequest): AuthenticationRequest | null {
    const [, token] = /^Bearer (\S+)$/i.exec(String(headers.authorization)) ?? []
    return token === undefined ? null : { strategy: this.name, token }
  }

  async authenticate({ token }: AuthenticationRequest): Promise<AuthenticationResult> {
    const { issuer, audience, keys } = this.#issuer
    const options = { issuer, audience, requiredClaims: ['sub', 'exp'] }
    const { payload } = await jwtVerify(String(token), keys, options).catch((error: unknown) => {
      throw isFetchFailure(error) ? error : new NotAuthenticated('Invalid token')
    })
    // Each key becomes one of the params: hooks and services find `params.user`.
    const user: User = { id: String(payload.sub), email: payload['email'] }
    return { authentication: { strategy: this.name, payload }, user }
  }
}

/** Returns whether the keys could not be fetched: that is a failure of ours, not a wrong token. */
function isFetchFailure(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return error.code === 'ERR_JOSE_GENERIC' || error.code === 'ERR_JWKS_TIMEOUT'
}

/** Returns an application whose services trust the tokens of an issuer. */
export function createReports(issuer: Issuer): FastifyApplication {
  const app = fastifyApp(createApp(), { logger: { level: 'warn' } })
  app.configure(rest())
  const authentication = new AuthenticationService(app, 'authentication', {
    // Required, although it signs no tokens.
    secret: randomBytes(32).toString('base64url'),
    entity: null,
    parseStrategies: ['issuer'],
  })
  authentication.register('issuer', new IssuerStrategy(issuer))
  app.use('authentication', authentication, { methods: [] })
  app.use('reports', {
    find: async ({ user }: Params) => [{ title: `A report for ${(user as User).email}` }],
  })
  app.service('reports').hooks({ around: { all: [authenticate('issuer')] } })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', ISSUER = 'http://127.0.0.1:3000' } = process.env
  const { AUDIENCE = ISSUER, JWKS_URL = `${ISSUER}/api/auth/jwks` } = process.env
  const keys = createRemoteJWKSet(new URL(JWKS_URL))
  const app = createReports({ issuer: ISSUER, audience: AUDIENCE, keys })
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`Reports at http://${HOST}:${PORT}/reports, for tokens of ${ISSUER}. Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
