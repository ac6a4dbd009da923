import { createHash, randomBytes } from 'node:crypto'

/** A user as `/user` tells of it; `email` is the public one, if any. */
export interface GitHubUser {
  readonly login: string
  readonly name: string | null
  readonly email: string | null
  /** A number at GitHub; of any kind here. */
  readonly id?: unknown
}

export interface GitHubEmail {
  readonly email: string
  readonly primary: boolean
  readonly verified: boolean
}

/** Whom a code or a token is for. */
export interface GrantedUser {
  readonly user: GitHubUser
  readonly emails: readonly GitHubEmail[]
}

interface Grant extends GrantedUser {
  readonly redirectUri: string | null
  readonly challenge: string | null
  readonly scope: string
}

/** Why there is no token, each with what GitHub says. */
const ERRORS = {
  incorrect_client_credentials: 'The client_id and/or client_secret passed are incorrect.',
  bad_verification_code: 'The code passed is incorrect or expired.',
  redirect_uri_mismatch: 'The redirect_uri must match the one of the authorization request.',
} as const

const toError = (error: keyof typeof ERRORS) => ({ error, error_description: ERRORS[error] })

/** The codes and tokens that a provider has given. */
export class GitHubGrants {
  readonly #codes = new Map<string, Grant>()
  readonly #tokens = new Map<string, GrantedUser>()
  readonly #client: { readonly key: string; readonly secret: string }
  readonly #pkce: 'checked' | 'ignored'

  constructor(
    client: { readonly key: string; readonly secret: string },
    pkce: 'checked' | 'ignored',
  ) {
    this.#client = client
    this.#pkce = pkce
  }

  createCode(asked: URLSearchParams, granted: GrantedUser): string {
    const code = randomBytes(10).toString('hex')
    this.#codes.set(code, {
      ...granted,
      redirectUri: asked.get('redirect_uri'),
      challenge: this.#pkce === 'checked' ? asked.get('code_challenge') : null,
      scope: asked.get('scope')?.replaceAll(' ', ',') ?? '',
    })
    return code
  }

  /** Returns the body of the answer. A code serves once, also when it fails. */
  exchange(form: URLSearchParams, authorization: string | undefined): Record<string, string> {
    const grant = this.#codes.get(form.get('code') ?? '')
    this.#codes.delete(form.get('code') ?? '')
    if (!this.#isClient(form, authorization)) return toError('incorrect_client_credentials')
    if (grant === undefined || !isVerified(grant, form)) return toError('bad_verification_code')
    if (grant.redirectUri !== form.get('redirect_uri')) return toError('redirect_uri_mismatch')
    const token = `gho_${randomBytes(18).toString('hex')}`
    this.#tokens.set(token, grant)
    return { access_token: token, token_type: 'bearer', scope: grant.scope }
  }

  findByToken(token: string): GrantedUser | undefined {
    return this.#tokens.get(token)
  }

  #isClient(form: URLSearchParams, authorization: string | undefined): boolean {
    const [scheme, encoded = ''] = authorization?.split(' ') ?? []
    const isBasic = scheme?.toLowerCase() === 'basic'
    const pair = isBasic
      ? Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent)
      : [form.get('client_id'), form.get('client_secret')]
    return pair[0] === this.#client.key && pair[1] === this.#client.secret
  }
}

/** A verifier without a challenge is not looked at. */
function isVerified({ challenge }: Grant, form: URLSearchParams): boolean {
  const verifier = form.get('code_verifier') ?? ''
  return (
    challenge === null || challenge === createHash('sha256').update(verifier).digest('base64url')
  )
}
