import cluster from 'node:cluster'
import type { Application } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import type { Authentication } from '../authentication.ts'
import { findEntityService, getIdName } from '../entity-service.ts'
import { freezeDeep, isSameSetting } from '../settings-values.ts'
import { LoginThrottle } from '../throttle/login-throttle.ts'
import { MemoryThrottleStore } from '../throttle/throttle-store.ts'
import { TokenIssuer } from '../tokens/access-token.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { MemoryRevocationList } from '../tokens/token-revocation.ts'
import type { AuthenticationConfiguration } from './authentication-config.ts'
import {
  checkAuthenticationConfig,
  ENTITY_RULES,
  getSection,
  resolveAuthenticationConfig,
} from './authentication-config.ts'

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

/** What is read of an authentication service. */
type Checked = Pick<
  Authentication,
  'app' | 'configKey' | 'configuration' | 'strategyNames' | 'getStrategy'
>

/**
 * Checks everything about the configuration of a service that its strategies don't
 * check themselves. In a worker of a cluster it warns of what each of them keeps for itself.
 * @param sections the names of the strategies whose sections may have other values for `entity`,
 *   `entityId` and `service`
 * @throws {TypeError} a setting is missing or not valid; the message names it
 */
export function checkConfiguration(service: Checked, sections: readonly string[]): void {
  const { configKey, configuration, strategyNames } = service
  const { secret, entity, service: path } = configuration
  if (secret === undefined) {
    throw new TypeError(`A 'secret' must be provided in your ${configKey} configuration`)
  }
  checkAuthenticationConfig(configuration, configKey, strategyNames)
  checkNames(service)
  if (entity !== null) {
    for (const [name, value] of Object.entries({ service: path, entity })) {
      if (value !== undefined) continue
      throw new TypeError(`The '${name}' option is not set in the ${configKey} configuration`)
    }
    checkEntityService(service)
  }
  for (const name of sections) checkSection(service, name)
  if (cluster.isWorker) warnOfMemory(service)
}

/**
 * Guesses would have their limit once for each worker, and a token that is revoked in one of them would be
 * good in the others.
 */
function warnOfMemory(service: Checked): void {
  const { app, configKey, configuration, strategyNames } = service
  const { loginThrottle, revocation } = configuration
  const { store = null } = typeof loginThrottle === 'object' ? loginThrottle : {}
  const isLimited = strategyNames.some((name) => service.getStrategy(name)?.limitGuesses)
  const isCounted = isLimited && loginThrottle !== false
  const settings: string[] = []
  if (isCounted && (store === null || store instanceof MemoryThrottleStore)) {
    settings.push(`${configKey}.loginThrottle.store`)
  }
  if (revocation === true || revocation instanceof MemoryRevocationList) {
    settings.push(`${configKey}.revocation`)
  }
  if (settings.length === 0) return
  app.logger.warn(
    { settings },
    `Each worker of a cluster has a memory of its own: give '${settings.join("', '")}' what all of them share, CollectionThrottleStore and CollectionRevocationList for example`,
  )
}

/**
 * Names of strategies must be registered, or have a section: that of one that is registered later.
 */
function checkNames({ configKey, configuration, strategyNames }: Checked): void {
  for (const list of ['authStrategies', 'parseStrategies'] as const) {
    const unknown = configuration[list]?.find(
      (name) => !strategyNames.includes(name) && !Object.hasOwn(configuration, name),
    )
    if (unknown === undefined) continue
    const known = strategyNames.join(', ') || 'none'
    throw new TypeError(
      `'${configKey}.${list}' names '${unknown}', which is no strategy: registered are ${known}`,
    )
  }
}

function checkEntityService({ app, configKey, configuration }: Checked): void {
  const { service: path, entityId } = configuration
  const service = checkExists(app, path, `${configKey}.service`)
  if (entityId === undefined && getIdName(service) === undefined) {
    throw new TypeError(
      `The '${path}' service does not have an 'id' property and no 'entityId' option is set.`,
    )
  }
}

/** The options that every section may have over those of the service. */
function checkSection({ app, configKey, configuration }: Checked, name: string): void {
  const { entity, entityId, service } = getSection(configuration, name)
  const place = `${configKey}.${name}`
  checkOptions(`the setting '${place}'`, { entity, entityId, service }, ENTITY_RULES)
  if (service === undefined) return
  checkExists(app, service, `${place}.service`)
  const isOther = toServicePath(service as string) !== toServicePath(configuration.service ?? '')
  const isSameEntity = entity === undefined || entity === configuration.entity
  // The id in a token would be looked up in the other service, and may be that of somebody else.
  if (isOther && isSameEntity && configuration.authStrategies.includes(name)) {
    throw new TypeError(
      `'${place}.service' is '${service}', but tokens are for '${configuration.service}': use a second AuthenticationService`,
    )
  }
}

function checkExists(app: Checked['app'], path: unknown, place: string) {
  const service = findEntityService(app, path)
  if (service !== null) return service
  throw new TypeError(`The '${path}' service that '${place}' names does not exist`)
}
