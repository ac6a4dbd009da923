import type { Application } from '../../core/index.ts'
import type { LoginExtension } from '../authentication.ts'
import { freezeDeep, isSameSetting } from '../settings-values.ts'
import { LoginThrottle } from '../throttle/login-throttle.ts'
import { TokenIssuer } from '../tokens/access-token.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { MemoryRevocationList } from '../tokens/token-revocation.ts'
import type { AuthenticationConfiguration } from './authentication-config.ts'
import { resolveAuthenticationConfig } from './authentication-config.ts'

/** The parts of the service that its settings need. */
interface SettingsOwner {
  /** Throws if the settings in effect are invalid. */
  readonly check: () => void
  /** Returns the login extensions. */
  readonly listExtensions: () => readonly LoginExtension[]
}

/**
 * The setting of an authentication service, which `app.set()` may replace while the service runs. A new setting takes
 * effect only if it is valid: a mistake must not lock everyone out.
 */
export class LiveSettings {
  readonly #app: Application
  readonly #configKey: string
  readonly #owner: SettingsOwner
  /** The last setting that was read, including one that was rejected. */
  #setting: unknown
  #prepared: PreparedSettings | null = null
  /** Whether the setting can only be replaced, no longer changed in place. */
  isFrozen = false

  /**
   * Writes the defaults and the options into the setting.
   * @param options override the setting, key by key
   */
  constructor(app: Application, configKey: string, options: object, owner: SettingsOwner) {
    this.#app = app
    this.#configKey = configKey
    this.#owner = owner
    app.set(configKey, resolveAuthenticationConfig(app.get(configKey), options))
  }

  /** The prepared form of the settings in effect. Checks for a new setting on each read. */
  get current(): PreparedSettings {
    const setting = this.#app.get(this.#configKey)
    const known = this.#prepared
    if (known !== null && this.isFrozen && this.#setting === setting) return known
    this.#setting = setting
    const configuration = freezeDeep(resolveAuthenticationConfig(setting))
    // Until it is frozen the setting may change in place; its prepared form is kept if it did not.
    if (known !== null && isSameSetting(configuration, known.configuration)) return known
    const extensions = this.#owner.listExtensions()
    const prepared = new PreparedSettings(configuration, this.#configKey, extensions, known)
    this.#prepared = prepared
    if (known === null || !this.isFrozen) return prepared
    try {
      this.#checkPrepared(prepared)
    } catch (error) {
      this.#prepared = known
      const message = 'A new setting is not valid: the old one stays in effect'
      this.#app.logger.error({ err: error, setting: this.#configKey }, message)
    }
    return this.#prepared
  }

  /**
   * Checks the setting and freezes it: from then on it can only be replaced.
   * @throws {TypeError} a setting is missing or invalid; the message names it
   */
  freeze(): void {
    this.#checkPrepared(this.current)
    this.#app.set(this.#configKey, freezeDeep(resolveAuthenticationConfig(this.#setting)))
    this.isFrozen = true
  }

  /** Checks settings that are already in effect, as strategies read theirs from the service. */
  #checkPrepared(prepared: PreparedSettings): void {
    this.#owner.check()
    // Creates the issuer and the limits now, so that invalid settings fail now.
    void [prepared.issuer, prepared.throttle]
  }
}

/**
 * One state of the configuration with everything derived from it. Counters and revocations carry over from the previous
 * state unless their own settings differ, so they survive a change of keys.
 */
class PreparedSettings {
  readonly configuration: AuthenticationConfiguration
  readonly revocationList: RevocationList | null
  /** The extensions whose settings exist. */
  readonly extensions: readonly LoginExtension[]
  readonly #configKey: string
  #issuer: TokenIssuer | undefined
  readonly #limits: { throttle?: LoginThrottle }

  constructor(
    configuration: AuthenticationConfiguration,
    configKey: string,
    extensions: readonly LoginExtension[],
    before: PreparedSettings | null,
  ) {
    const keptFor = (name: 'loginThrottle' | 'revocation'): PreparedSettings | null =>
      isSameSetting(configuration[name], before?.configuration[name]) ? before : null
    const { revocation } = configuration
    const ownList = revocation === true ? new MemoryRevocationList() : revocation || null
    const [sameList, sameLimits] = [keptFor('revocation'), keptFor('loginThrottle')]
    this.configuration = configuration
    this.#configKey = configKey
    this.revocationList = sameList === null ? ownList : sameList.revocationList
    this.#limits = sameLimits === null ? {} : sameLimits.#limits
    this.extensions = extensions.filter(({ setting }) => configuration[setting] !== undefined)
  }

  /** Created on first use. @throws {TypeError} the secret or an option is invalid */
  get issuer(): TokenIssuer {
    this.#issuer ??= new TokenIssuer(this.configuration, this.#configKey)
    return this.#issuer
  }

  /** Created on first use; `null` only if the setting is `false`. @throws {TypeError} an option is not a valid limit */
  get throttle(): LoginThrottle | null {
    const { loginThrottle } = this.configuration
    if (loginThrottle === false) return null
    this.#limits.throttle ??= new LoginThrottle(loginThrottle === true ? {} : loginThrottle)
    return this.#limits.throttle
  }
}
