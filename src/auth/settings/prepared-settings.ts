import { isSameSetting } from '../settings-merge.ts'
import type { LoginThrottle } from '../throttle/login-throttle.ts'
import { toLoginThrottle } from '../throttle/login-throttle.ts'
import { TokenIssuer } from '../tokens/token-issuer.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { toRevocationList } from '../tokens/token-revocation.ts'
import type { AuthenticationConfiguration } from './authentication-config.ts'
import { toTokenBinding } from './authentication-config.ts'

/**
 * One state of the configuration, with the issuer, the limits and the revocation list that are made
 * of it when they are first used. Counters and revocations are taken over from the state before
 * unless their settings differ, so they survive a change of keys.
 */
export class PreparedSettings {
  readonly configuration: AuthenticationConfiguration
  readonly #configKey: string
  #issuer: TokenIssuer | undefined
  #throttle: LoginThrottle | null | undefined
  #revocation: RevocationList | null | undefined

  constructor(
    configuration: AuthenticationConfiguration,
    configKey: string,
    previous: PreparedSettings | null,
  ) {
    this.configuration = configuration
    this.#configKey = configKey
    if (previous === null) return
    const { loginThrottle, revocation } = previous.configuration
    if (isSameSetting(configuration.loginThrottle, loginThrottle)) {
      this.#throttle = previous.#throttle
    }
    if (isSameSetting(configuration.revocation, revocation)) this.#revocation = previous.#revocation
  }

  /** @throws {TypeError} the secret or an option for tokens is not valid */
  get issuer(): TokenIssuer {
    if (this.#issuer === undefined) {
      const { secret, jwtOptions } = this.configuration
      const binding = toTokenBinding(this.configuration, this.#configKey)
      this.#issuer = new TokenIssuer({ secret, jwtOptions, ...binding }, this.#configKey)
    }
    return this.#issuer
  }

  /** @throws {TypeError} a limit is not valid */
  get loginThrottle(): LoginThrottle | null {
    if (this.#throttle === undefined) {
      this.#throttle = toLoginThrottle(this.configuration.loginThrottle)
    }
    return this.#throttle
  }

  get revocationList(): RevocationList | null {
    if (this.#revocation === undefined) {
      this.#revocation = toRevocationList(this.configuration.revocation)
    }
    return this.#revocation
  }
}
