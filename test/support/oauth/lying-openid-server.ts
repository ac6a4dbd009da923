import { randomBytes } from 'node:crypto'
import type { Claims, SigningKeys } from './forged-token.ts'
import { signHonestly } from './forged-token.ts'
import type { Answered, LocalServer, ReceivedRequest } from './local-server.ts'
import { startLocalServer } from './local-server.ts'
import type { LieContext, OpenIdLie } from './openid-lies.ts'
import { createSigningKey } from './signing-keys.ts'

export interface LyingOpenIdServerOptions {
  /** Origin that lies lead to; default one where nobody listens. */
  readonly elsewhere?: string
  /** Time of the id tokens, in milliseconds since the epoch; default the time of day. */
  readonly now?: () => number
}

/** An OpenID provider that is honest until `lie` says otherwise. */
export interface LyingOpenIdServer extends LocalServer {
  readonly issuer: string
  readonly client: { readonly key: string; readonly secret: string }
  /** Who is logged in: the claims of id token and userinfo. */
  account: Claims
  lie: OpenIdLie
  /** Resolves to an id token as `lie` has it, without a login; claims can be set. */
  createIdToken(claims?: Claims): Promise<string>
}

/** What the endpoints share. */
interface Liar {
  readonly server: Pick<LyingOpenIdServer, 'account' | 'lie' | 'client' | 'createIdToken'>
  readonly keys: SigningKeys
  /** Nonces of the codes that have been given, and the accounts. */
  readonly codes: Map<string, { readonly nonce: string | undefined; readonly account: Claims }>
  context(): LieContext
}

type Endpoint = (liar: Liar, request: ReceivedRequest) => Answered | Promise<Answered>

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/.well-known/openid-configuration': (liar) => bent(liar, 'discovery', describe(liar)),
  '/jwks': (liar) => bent(liar, 'jwks', { keys: [liar.keys.published.publicJwk] }),
  '/authorize': authorize,
  '/token': giveTokens,
  '/userinfo': (liar) => bent(liar, 'userinfo', liar.server.account),
}

/** Starts the provider on a free port of the loopback interface. */
export async function startLyingOpenIdServer(
  options: LyingOpenIdServerOptions = {},
): Promise<LyingOpenIdServer> {
  const { elsewhere = 'http://127.0.0.1:1', now = () => Date.now() } = options
  const client = { key: 'notes', secret: 'a secret of at least thirty-two characters' }
  const [published, unpublished] = await Promise.all([
    createSigningKey('RS256'),
    createSigningKey('RS256'),
  ])
  const keys = { published, unpublished, clientSecret: client.secret }
  const server = {
    client,
    account: { sub: 'ann', email: 'ann@example.com', email_verified: true } as Claims,
    lie: {} as OpenIdLie,
    createIdToken: (claims: Claims = {}) => signIdToken(liar, { ...server.account, ...claims }),
  }
  const local = await startLocalServer((request) => {
    const answer = server.lie.answers?.[request.path]
    return answer ?? ENDPOINTS[request.path]?.(liar, request) ?? { status: 404 }
  })
  const issuer = local.origin
  const liar: Liar = {
    server,
    keys,
    codes: new Map(),
    context: () => ({ issuer, clientId: client.key, elsewhere, now: Math.floor(now() / 1000) }),
  }
  return Object.assign(server, local, { issuer })
}

/** Returns what the lie makes of an honest answer. */
function bend(liar: Liar, place: Exclude<keyof OpenIdLie, 'sign' | 'answers'>, honest: Claims) {
  return liar.server.lie[place]?.(honest, liar.context()) ?? honest
}

function bent(liar: Liar, place: 'discovery' | 'jwks' | 'userinfo' | 'token', honest: Claims) {
  return { body: bend(liar, place, honest) }
}

function describe(liar: Liar): Claims {
  const { issuer } = liar.context()
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** Sends the user back at once. */
function authorize(liar: Liar, { query }: ReceivedRequest): Answered {
  const code = randomBytes(16).toString('hex')
  liar.codes.set(code, { nonce: query.get('nonce') ?? undefined, account: liar.server.account })
  const { issuer: iss } = liar.context()
  const values = bend(liar, 'callback', { code, state: query.get('state'), iss })
  const location = new URL(query.get('redirect_uri') ?? 'none:')
  for (const [name, value] of Object.entries(values)) {
    for (const one of [value].flat())
      if (one != null) location.searchParams.append(name, String(one))
  }
  return { status: 302, headers: { location: location.href } }
}

async function giveTokens(liar: Liar, { body }: ReceivedRequest): Promise<Answered> {
  const code = new URLSearchParams(body).get('code') ?? ''
  const granted = liar.codes.get(code)
  liar.codes.delete(code)
  if (granted === undefined) return { status: 400, body: { error: 'invalid_grant' } }
  return bent(liar, 'token', {
    access_token: randomBytes(16).toString('hex'),
    token_type: 'Bearer',
    expires_in: 600,
    id_token: await signIdToken(liar, { ...granted.account, nonce: granted.nonce }),
  })
}

async function signIdToken(liar: Liar, claims: Claims): Promise<string> {
  const { issuer, clientId, now } = liar.context()
  const honest = { iss: issuer, aud: clientId, iat: now, exp: now + 600, ...claims }
  const sign = liar.server.lie.sign ?? signHonestly
  // Once through JSON: what a lie leaves out is not there.
  return sign(JSON.parse(JSON.stringify(bend(liar, 'idToken', honest))), liar.keys)
}
