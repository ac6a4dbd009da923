import type { Application } from '../../core/index.ts'
import type { LoginExtension } from '../authentication.ts'
import { freezeDeep, isSameSetting } from '../settings-values.ts'
import { LoginThrottle } from '../throttle/login-throttle.ts'
import { TokenIssuer } from '../tokens/access-token.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { MemoryRevocationList } from '../tokens/token-revocation.ts'
import type { AuthenticationConfiguration } from './authentication-config.ts'
import { resolveAuthenticationConfig } from './authentication-config.ts'

/** What the settings need of their service. */
interface SettingsOwner {
  /** Throws where something about the settings in effect is not valid. */
  readonly check: () => void
  /** Returns what may add to its logins. */
  readonly listExtensions: () => readonly LoginExtension[]
}

/**
 * The setting of an authentication service, which `app.set()` may replace while the service runs. A
 * new one takes effect only if it is valid: a mistake must not lock everybody out.
 */
export class LiveSettings {
  readonly #app: Application
  readonly #configKey: string
  readonly #owner: SettingsOwner
  /** The setting as it was looked at last, which may be one that was refused. */
  #setting: unknown
  #prepared: PreparedSettings | null = null
  /** Whether the setting can only be replaced, and not changed. */
  isFrozen = false

  /**
   * Writes the defaults and the options into the setting.
   * @param options overrides what the setting holds, key by key
   */
  constructor(app: Application, configKey: string, options: object, owner: SettingsOwner) {
    this.#app = app
    this.#configKey = configKey
    this.#owner = owner
    app.set(configKey, resolveAuthenticationConfig(app.get(configKey), options))
  }

  /** What is made of the settings in effect. Looks for a new setting each time. */
  get current(): PreparedSettings {
    const setting = this.#app.get(this.#configKey)
    const known = this.#prepared
    if (known !== null && this.isFrozen && this.#setting === setting) return known
    this.#setting = setting
    const configuration = freezeDeep(resolveAuthenticationConfig(setting))
    // Until it is frozen the setting may change in place; what was made of it stays if it did not.
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
   * Checks the setting and freezes it: from now on it can only be replaced.
   * @throws {TypeError} something is missing or not valid; the message names it
   */
  freeze(): void {
    this.#checkPrepared(this.current)
    this.#app.set(this.#configKey, freezeDeep(resolveAuthenticationConfig(this.#setting)))
    this.isFrozen = true
  }

  /** Checks settings that are in effect already, for strategies read theirs from the service. */
  #checkPrepared(prepared: PreparedSettings): void {
    this.#owner.check()
    // Made now, so that what is not valid for them fails now.
    void [prepared.issuer, prepared.throttle]
  }
}

/**
 * One state of the configuration, with what is made of it. Counters and revocations are taken over from the state
 * before unless their settings differ, so they survive a change of keys.
 */
class PreparedSettings {
  readonly configuration: AuthenticationConfiguration
  readonly revocationList: RevocationList | null
  /** Those whose settings are there. */
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

  /** Made when it is first used. @throws {TypeError} the secret or an option is not allowed */
  get issuer(): TokenIssuer {
    this.#issuer ??= new TokenIssuer(this.configuration, this.#configKey)
    return this.#issuer
  }

  /** Made when it is first used; `null` only where the setting is `false`. @throws {TypeError} an option is no limit */
  get throttle(): LoginThrottle | null {
    const { loginThrottle } = this.configuration
    if (loginThrottle === false) return null
    this.#limits.throttle ??= new LoginThrottle(loginThrottle === true ? {} : loginThrottle)
    return this.#limits.throttle
  }
}
