import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ClientMetadata, Configuration, default as Provider } from 'oidc-provider'
import { listenLocally } from './local-server.ts'
import type { AskingProvider } from './openid-pages.ts'
import { answerPage, PAGES } from './openid-pages.ts'
import { OpenIdStorage } from './openid-storage.ts'
import type { SigningAlgorithm } from './signing-keys.ts'
import { createSigningKey } from './signing-keys.ts'

/** Claims about a user, `sub` excepted: that is the name of the account. */
export type AccountClaims = Readonly<Record<string, unknown>>

export interface OpenIdServerOptions {
  /** Applications that may ask; more by `addClient()`, when their addresses are known. */
  readonly clients?: readonly ClientMetadata[]
  /** Who can log in, by the name that is typed into the login page, which becomes `sub`. */
  readonly accounts?: Readonly<Record<string, AccountClaims>>
  /** Where the claims of `email` and `profile` stand; default `userinfo`, as the standard has it. */
  readonly claimsIn?: 'userinfo' | 'id_token'
}

/** A certified OpenID provider on the loopback interface. */
export interface OpenIdServer {
  /** `http://127.0.0.1:PORT` */
  readonly issuer: string
  /** Can be changed: a login takes what stands here at its time. */
  readonly accounts: Record<string, AccountClaims>
  /** The `kid`s of the present keys. */
  readonly kids: readonly string[]
  addClient(client: ClientMetadata): void
  /** New keys take the place of all others; sessions, grants and codes stay. */
  rotateKeys(): Promise<void>
  close(): Promise<void>
}

type Callback = (request: IncomingMessage, response: ServerResponse) => unknown

const ALGORITHMS: readonly SigningAlgorithm[] = ['RS256', 'ES256']

/**
 * Starts `oidc-provider` on a free port: with PKCE demanded, `iss` in its responses, form_post, and
 * pages to log in and to agree or refuse.
 */
export async function startOpenIdServer(options: OpenIdServerOptions = {}): Promise<OpenIdServer> {
  const { clients = [], claimsIn = 'userinfo' } = options
  const accounts = { ...options.accounts }
  const storage = new OpenIdStorage()
  for (const client of clients) storage.addClient(client)

  const ProviderClass = await loadProvider()
  let [handle, kids]: [Callback, string[]] = [() => undefined, []]
  const server = await listenLocally((request, response) => handle(request, response))
  const base = {
    ...createConfiguration(storage, accounts),
    conformIdTokenClaims: claimsIn === 'userinfo',
  }

  /** A provider can not change its keys: one with others goes on with what is stored. */
  const rotateKeys = async (): Promise<void> => {
    const keys = await Promise.all(ALGORITHMS.map(createSigningKey))
    const jwks = { keys: keys.map(({ privateJwk }) => privateJwk) } as Configuration['jwks']
    const provider = new ProviderClass(server.origin, { ...base, jwks })
    handle = toCallback({ provider, hasAccount: (name) => Object.hasOwn(accounts, name) })
    kids = keys.map(({ kid }) => kid)
  }
  await rotateKeys()

  return {
    issuer: server.origin,
    accounts,
    get kids() {
      return kids
    },
    addClient: (client) => storage.addClient(client),
    rotateKeys,
    close: server.close,
  }
}

function createConfiguration(
  storage: OpenIdStorage,
  accounts: Record<string, AccountClaims>,
): Configuration {
  return {
    adapter: (name) => storage.adapterFor(name),
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'preferred_username', 'picture'],
    },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    features: { devInteractions: { enabled: false } },
    findAccount: async (_context, sub) => {
      const claims = accounts[sub]
      return claims && { accountId: sub, claims: async () => ({ sub, ...claims }) }
    },
    interactions: { url: (_context, { uid }) => PAGES + uid },
    pkce: { required: () => true },
    renderError: (context, out) => {
      context.type = 'json'
      context.body = out
    },
    ttl: TIMES_TO_LIVE,
  }
}

/** In seconds. Each that is not named here makes the provider print a notice. */
const TIMES_TO_LIVE = {
  AccessToken: 600,
  AuthorizationCode: 60,
  Grant: 3600,
  IdToken: 600,
  Interaction: 600,
  Session: 3600,
}

function toCallback(asking: AskingProvider): Callback {
  const answer = asking.provider.callback()
  return async (request, response) => {
    if (!request.url?.startsWith(PAGES)) return answer(request, response)
    try {
      await answerPage(asking, request, response)
    } catch (error) {
      response.writeHead(400, { 'content-type': 'text/plain' }).end(String(error))
    }
  }
}

/** `oidc-provider` warns of Node 20 as it is loaded, though it works there. */
async function loadProvider(): Promise<typeof Provider> {
  const { warn } = console
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes('Unsupported runtime')) warn(...words)
  }
  try {
    return (await import('oidc-provider')).default
  } finally {
    console.warn = warn
  }
}
