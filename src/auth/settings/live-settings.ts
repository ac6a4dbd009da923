import type { Application } from '../../core/index.ts'
import type { LoginExtension } from '../authentication.ts'
import { deriveOnce, freezeDeep, isSameSetting } from '../settings-values.ts'
import { LoginThrottle } from '../throttle/login-throttle.ts'
import { TokenIssuer } from '../tokens/access-token.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { MemoryRevocationList } from '../tokens/token-revocation.ts'
import type { AuthenticationConfiguration } from './authentication-config.ts'
import { resolveAuthenticationConfig } from './authentication-config.ts'

/**
 * The setting of an authentication service, which `app.set()` may replace while the service runs. A new setting takes
 * effect only if it is valid: a mistake must not lock everyone out.
 */
export class LiveSettings {
  readonly #app: Application
  readonly #configKey: string
  readonly #owner: { check(): void; listExtensions(): readonly LoginExtension[] }
  /** The last setting that was read, including one that was rejected. */
  #setting: unknown
  #prepared: PreparedSettings | null = null
  /** Whether the setting can only be replaced, no longer changed in place. */
  isFrozen = false

  /**
   * Writes the defaults and the options into the setting.
   * @param options override the setting, key by key
   * @param owner checks the settings in effect, and lists the login extensions
   */
  constructor(
    app: Application,
    configKey: string,
    options: object,
    owner: { check(): void; listExtensions(): readonly LoginExtension[] },
  ) {
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
    const prepared = prepareSettings(configuration, this.#configKey, extensions, known)
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
    void [prepared.readIssuer(), prepared.readThrottle()]
  }
}

/** One state of the configuration with everything derived from it. */
interface PreparedSettings {
  readonly configuration: AuthenticationConfiguration
  /** The extensions whose settings exist. */
  readonly extensions: readonly LoginExtension[]
  readonly revocationList: RevocationList | null
  /** @throws {TypeError} the secret or an option is invalid */
  readonly readIssuer: () => TokenIssuer
  /** Returns `null` only if the setting is `false`. @throws {TypeError} an option is not a valid limit */
  readonly readThrottle: () => LoginThrottle | null
}

/**
 * Prepares a configuration. Counters and revocations carry over from the previous state unless their own settings
 * differ, so they survive a change of keys.
 */
function prepareSettings(
  configuration: AuthenticationConfiguration,
  configKey: string,
  extensions: readonly LoginExtension[],
  before: PreparedSettings | null,
): PreparedSettings {
  const { loginThrottle, revocation } = configuration
  const keptFor = (name: 'loginThrottle' | 'revocation'): PreparedSettings | null =>
    isSameSetting(configuration[name], before?.configuration[name]) ? before : null
  const ownList = revocation === true ? new MemoryRevocationList() : revocation || null
  const kept = keptFor('revocation')
  const createThrottle = (setting: typeof loginThrottle): LoginThrottle | null =>
    setting === false ? null : new LoginThrottle(setting === true ? {} : setting)
  return {
    configuration,
    extensions: extensions.filter(({ setting }) => configuration[setting] !== undefined),
    revocationList: kept === null ? ownList : kept.revocationList,
    readIssuer: deriveOnce(
      () => configuration,
      (settings) => new TokenIssuer(settings, configKey),
    ),
    readThrottle:
      keptFor('loginThrottle')?.readThrottle ?? deriveOnce(() => loginThrottle, createThrottle),
  }
}
