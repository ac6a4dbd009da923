// An OpenID provider for tests, with two users and no passwords.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'
import Provider from 'oidc-provider'
import { ProviderMemory } from './memory.ts'
import { answerPrompt, PROMPTS_PATH } from './provider-pages.ts'

/** The accounts, by id. */
const PEOPLE: Readonly<Record<string, { name: string; email: string }>> = {
  ann: { name: 'Ann', email: 'ann@example.org' },
  ben: { name: 'Ben', email: 'ben@example.org' },
}

export interface ExampleProvider {
  /** Its URL, the issuer of its id tokens. */
  readonly issuer: string
  /** Registers an application and the addresses that users return to. */
  addClient(id: string, secret: string, redirectUri: string): void
  close(): Promise<void>
}

/**
 * Starts a provider on a free port.
 * @param name the name that users see
 */
export async function startProvider(name: string, host: string): Promise<ExampleProvider> {
  const server = createServer()
  server.listen(0, host)
  await once(server, 'listening')
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`
  const memory = new ProviderMemory()
  const provider = new Provider(issuer, createConfiguration(name, memory))
  const answer = provider.callback()
  const asking = { provider, name, people: PEOPLE }
  server.on('request', (request, response) => {
    const isPrompt = request.url?.startsWith(PROMPTS_PATH) === true
    const answered = isPrompt ? answerPrompt(asking, request, response) : answer(request, response)
    answered.catch((error: Error) => {
      response.writeHead(400, { 'content-type': 'text/plain' }).end(error.message)
    })
  })
  return {
    issuer,
    addClient(id, secret, redirectUri) {
      memory.addClient({ client_id: id, client_secret: secret, redirect_uris: [redirectUri] })
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function createConfiguration(name: string, memory: ProviderMemory): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }
  const prefix = name.toLowerCase()
  return {
    adapter: (kind) => memory.adapterFor(kind),
    jwks: { keys: [key] } as Configuration['jwks'],
    cookies: {
      keys: [randomBytes(32).toString('hex')],
      // Browsers share cookies between all ports of a host.
      names: {
        session: `${prefix}_session`,
        interaction: `${prefix}_interaction`,
        resume: `${prefix}_resume`,
      },
    },
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: async (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, ...PEOPLE[id], email_verified: true }),
    }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => PROMPTS_PATH + uid },
    pkce: { required: () => true },
    // In seconds. The provider prints a notice for each missing one.
    ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, Interaction: 600, ...DAY },
  }
}

const DAY = { Grant: 86_400, Session: 86_400 }
