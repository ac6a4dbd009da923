import type { Application } from '../../core/index.ts'
import { freezeDeep, isSameSetting } from '../settings-values.ts'
import { LoginThrottle } from '../throttle/login-throttle.ts'
import { TokenIssuer } from '../tokens/access-token.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { MemoryRevocationList } from '../tokens/token-revocation.ts'
import type { AuthenticationConfiguration } from './authentication-config.ts'
import { resolveAuthenticationConfig } from './authentication-config.ts'

/** Tokens of the service with this key don't name their service: usually there is only one. */
const DEFAULT_KEY = 'authentication'

/**
 * The setting of an authentication service, which `app.set()` may replace while the service runs. A
 * new one takes effect only if it is valid: a mistake must not lock everybody out.
 */
export class LiveSettings {
  readonly #app: Application
  readonly #configKey: string
  readonly #check: () => void
  /** The setting as it was looked at last, which may be one that was refused. */
  #setting: unknown
  #prepared: PreparedSettings | null = null
  #isFrozen = false

  /**
   * Writes the defaults and the options into the setting.
   * @param options overrides what the setting holds, key by key
   * @param check throws where something about the settings in effect is not valid
   */
  constructor(app: Application, configKey: string, options: object, check: () => void) {
    this.#app = app
    this.#configKey = configKey
    this.#check = check
    app.set(configKey, resolveAuthenticationConfig(app.get(configKey), options))
  }

  /** What is made of the settings in effect. Looks for a new setting each time. */
  get current(): PreparedSettings {
    const setting = this.#app.get(this.#configKey)
    const known = this.#prepared
    if (known !== null && this.#isFrozen && this.#setting === setting) return known
    this.#setting = setting
    const configuration = freezeDeep(resolveAuthenticationConfig(setting))
    // Until it is frozen the setting may change in place; what was made of it stays if it did not.
    if (known !== null && isSameSetting(configuration, known.configuration)) return known
    this.#prepared = new PreparedSettings(configuration, this.#configKey, known)
    return this.#isFrozen && known !== null ? this.#replace(known, this.#prepared) : this.#prepared
  }

  /**
   * Checks the setting and freezes it: from now on it can only be replaced.
   * @throws {TypeError} something is missing or not valid; the message names it
   */
  freeze(): void {
    this.#checkPrepared(this.current)
    this.#app.set(this.#configKey, freezeDeep(resolveAuthenticationConfig(this.#setting)))
    this.#isFrozen = true
  }

  /** Returns the new settings if they are valid, else the old ones. */
  #replace(old: PreparedSettings, prepared: PreparedSettings): PreparedSettings {
    try {
      this.#checkPrepared(prepared)
    } catch (error) {
      this.#prepared = old
      const message = 'A new setting is not valid: the old one stays in effect'
      this.#app.logger.error({ err: error, setting: this.#configKey }, message)
      return old
    }
    return prepared
  }

  /** Checks settings that are in effect already, for strategies read theirs from the service. */
  #checkPrepared(prepared: PreparedSettings): void {
    this.#check()
    // Made now, so that what is not valid for them fails now.
    void [prepared.issuer, prepared.loginThrottle, prepared.revocationList]
  }
}

/**
 * One state of the configuration, with the issuer, the limits and the revocation list that are made
 * of it when they are first used. Counters and revocations are taken over from the state before
 * unless their settings differ, so they survive a change of keys.
 */
class PreparedSettings {
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
    if (this.#issuer !== undefined) return this.#issuer
    const { entity, secret, jwtOptions } = this.configuration
    const authority = this.#configKey === DEFAULT_KEY ? null : this.#configKey
    const settings = { secret, jwtOptions, needsSubject: entity !== null, authority }
    this.#issuer = new TokenIssuer(settings, this.#configKey)
    return this.#issuer
  }

  /**
   * The limits that the setting asks for, `null` only where it is `false`.
   * @throws {TypeError} one is not valid
   */
  get loginThrottle(): LoginThrottle | null {
    if (this.#throttle !== undefined) return this.#throttle
    const { loginThrottle } = this.configuration
    const options = loginThrottle === true ? {} : loginThrottle
    this.#throttle = options === false ? null : new LoginThrottle(options)
    return this.#throttle
  }

  get revocationList(): RevocationList | null {
    if (this.#revocation !== undefined) return this.#revocation
    const { revocation } = this.configuration
    this.#revocation = revocation === true ? new MemoryRevocationList() : revocation || null
    return this.#revocation
  }
}
