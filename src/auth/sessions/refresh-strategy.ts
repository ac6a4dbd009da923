import type { AuthenticationRequest } from '../../core/index.ts'
import type {
  Authentication,
  AuthenticationResult,
  AuthenticationStrategy,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { Sessions } from './sessions.ts'

/** Renews a session by `{ strategy: 'refresh', refreshToken }`. Failing ones count by their address. */
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
    return this.#sessions.refresh(request['refreshToken'], params)
  }

  limitGuesses<T>(
    _request: AuthenticationRequest,
    { address, signal }: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    const { app, loginThrottle } = this.#authentication
    if (loginThrottle === null || address === undefined) return prove()
    return loginThrottle.run(null, address, prove, { logger: app.logger, signal })
  }
}
