import { listSecrets } from '../../core/secrets/secret.ts'
import type { Authentication, AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { decodeClaims } from '../tokens/access-token.ts'
import type { TokenOptions } from '../tokens/token-options.ts'
import type { RefreshToken, TokenKeys } from './refresh-token-form.ts'
import { deriveTokenKeys, toTokenId } from './refresh-token-form.ts'
import type { ResolvedSessionOptions, SessionOptions } from './session-options.ts'
import { resolveSessionOptions } from './session-options.ts'
import type { StoredSession } from './stored-session.ts'

/** What follows from one state of the settings. */
interface Prepared {
  readonly base: unknown
  readonly options: ResolvedSessionOptions
  readonly keys: TokenKeys
}

/** Makes the access tokens of sessions, and has the options and the keys in effect. */
export class SessionTokens {
  readonly #authentication: Authentication
  #prepared: Prepared | null = null

  constructor(authentication: Authentication) {
    this.#authentication = authentication
  }

  get options(): ResolvedSessionOptions {
    return this.#prepare().options
  }

  /** Those of refresh tokens, none from a public key: that is known to everybody. */
  get keys(): TokenKeys {
    return this.#prepare().keys
  }

  #prepare(): Prepared {
    const { configKey, configuration } = this.#authentication
    if (this.#prepared?.base === configuration) return this.#prepared
    this.#prepared = {
      base: configuration,
      options: resolveSessionOptions(
        configuration.sessions as SessionOptions,
        `${configKey}.sessions`,
      ),
      keys: deriveTokenKeys(configKey, listSecrets(configuration.secret)),
    }
    return this.#prepared
  }

  /** Resolves to a result with a pair of tokens. */
  async renew(
    result: AuthenticationResult,
    { userId, issuedAt }: Pick<StoredSession, 'userId' | 'issuedAt'>,
    token: RefreshToken,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    const authentication = this.#authentication
    const payload = await authentication.getPayload(result, params)
    const options = await authentication.getTokenOptions(result, params)
    const subject = userId === '' ? {} : { subject: userId }
    const all = { ...options, ...subject }
    return toResult(result, await this.sign(token, issuedAt, payload, all, params), token)
  }

  /** Resolves to the access token beside a refresh token. */
  sign(
    token: RefreshToken,
    issuedAt: number,
    payload: object,
    options: TokenOptions,
    { secret }: AuthenticationParams,
  ): Promise<string> {
    const { accessSeconds } = this.options
    const times = { expiresIn: accessSeconds, issuedAt, jwtid: toTokenId(token) }
    const claims = { ...payload, sid: token.sessionId }
    return this.#authentication.createAccessToken(claims, { ...options, ...times }, secret)
  }
}

/** Returns the result of a login with a pair of tokens. */
export function toResult(
  result: AuthenticationResult,
  accessToken: string,
  { text }: RefreshToken,
): AuthenticationResult {
  const authentication = { ...result.authentication, payload: decodeClaims(accessToken) }
  return { accessToken, refreshToken: text, ...result, authentication }
}
