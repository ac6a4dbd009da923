import type { AuthenticationRequest } from '../../core/index.ts'
import type {
  Authentication,
  AuthenticationResult,
  AuthenticationStrategy,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { readRefreshToken } from './refresh-token-form.ts'
import type { Sessions } from './sessions.ts'

/**
 * Renews a session by `{ strategy: 'refresh', refreshToken }`. Tokens that were not made here count as failing
 * logins of their network address.
 */
export class RefreshStrategy implements AuthenticationStrategy {
  readonly #authentication: Authentication
  readonly #sessions: Sessions

  constructor(authentication: Authentication, sessions: Sessions) {
    this.#authentication = authentication
    this.#sessions = sessions
  }

  authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    return this.#sessions.rotation.refresh(request['refreshToken'], params)
  }

  limitGuesses<T>(
    { refreshToken }: AuthenticationRequest,
    { address, signal }: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    const { app, loginThrottle } = this.#authentication
    // A token that was made here is no guess, and does not wait for the guesses from its address.
    const isMade = readRefreshToken(refreshToken, this.#sessions.tokens.keys) !== null
    if (isMade || loginThrottle === null || address === undefined) return prove()
    return loginThrottle.run(null, address, prove, { logger: app.logger, signal })
  }
}
