import { InvalidApiKey } from '../../core/errors/coded-errors.ts'
import { SettingError } from '../../core/errors/setup-errors.ts'
import type { AuthenticationRequest } from '../../core/index.ts'
import { ServiceError, toServicePath } from '../../core/index.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import { createRefusal, orNull } from '../auth-errors.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationResult,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { EntityService } from '../entity-service.ts'
import { findEntityService, findUserFinder } from '../entity-service.ts'
import { findRecordService, KeptRecords } from '../kept-records.ts'
import { limitLogins } from '../proof.ts'
import { getSection } from '../settings/authentication-config.ts'
import { AuthenticationBaseStrategy } from '../strategies/base-strategy.ts'
import type { ApiKeyConfiguration, ApiKeyService, StoredApiKey } from './api-key.ts'
import { API_KEY_DEFAULTS, API_KEY_RULES, findApiKey, UNKNOWN_KEY } from './api-key.ts'
import { createKeyDescriber, createKeyGuard } from './own-api-key.ts'

/** One counts the keys of a user, the other lets the database delete keys 30 days after they have expired. */
const INDEXES = [{ key: { userId: 1 } }, { key: { expiresAt: 1 }, expireAfterSeconds: 30 * 86_400 }]

/** The precision of `usedAt`: one write a minute, however often a key is used. */
const USE_STEP_MS = 60_000

/**
 * Authenticates by an API key in a custom header. Users create and remove keys with the service that the setting
 * `service` of the strategy names. Services that accept keys list the strategy: `authenticate('jwt', 'api-key')`.
 */
export class ApiKeyStrategy extends AuthenticationBaseStrategy {
  /** The path of the service with the keys, once it is set up. */
  #path: string | undefined
  #records: KeptRecords | undefined

  /** Guards the service that stores the keys as soon as it is registered. */
  override setAuthentication(authentication: Authentication): void {
    super.setAuthentication(authentication)
    this.#records = new KeptRecords({
      ...{ authentication, records: 'API keys', indexes: INDEXES },
      readSetting: () => `${authentication.configKey}.${this.name}`,
      readPath: () => getSection(authentication.configuration, this.name)['service'],
      guard: createKeyGuard(() => {
        return { authentication, configuration: this.configuration, keys: this.#keys }
      }),
      describe: createKeyDescriber(authentication, () => this.configuration),
    })
    this.#records.place()
  }

  override get configuration(): Readonly<ApiKeyConfiguration & Record<string, unknown>> {
    const section = getSection(this.authentication.configuration, this.name)
    return { ...API_KEY_DEFAULTS, ...(section as unknown as ApiKeyConfiguration) }
  }

  /** The service of the users. The setting `service` of this strategy names that of the keys. */
  override get entityService(): EntityService | null {
    return findEntityService(this.app, this.authentication.configuration.service)
  }

  /** The OpenAPI description of the header. */
  get securityScheme(): Readonly<Record<string, unknown>> {
    const { header, prefix } = this.configuration
    return { type: 'apiKey', in: 'header', name: header, description: `A key \`${prefix}_…\`.` }
  }

  /** @throws {TypeError} an option is unknown, missing or invalid */
  verifyConfiguration(): void {
    // The settings may name another service than before.
    this.#records?.place()
    const { name, authentication } = this
    const { configKey, configuration, parseStrategies } = authentication
    const place = `${configKey}.${name}`
    const section = getSection(configuration, name)
    for (const required of ['service', 'prefix']) {
      if (section[required] !== undefined) continue
      throw new SettingError(`'${name}' authentication strategy requires a '${required}' setting`)
    }
    checkOptions(`the setting '${place}'`, section, API_KEY_RULES)
    if (configuration.authStrategies.includes(name)) {
      throw new SettingError(
        `'${configKey}.authStrategies' cannot name '${name}': by a login, a key would become a token ` +
          `that may do more. Name it in '${configKey}.parseStrategies'`,
      )
    }
    if (!parseStrategies.includes(name)) {
      throw new SettingError(
        `'${configKey}.parseStrategies' does not name '${name}', so that no request is read by it: ` +
          `${configKey}: { parseStrategies: ['jwt', '${name}'] }`,
      )
    }
    if (this.#path !== undefined && toServicePath(String(section['service'])) !== this.#path) {
      throw new SettingError(
        `'${place}.service' cannot change while the application runs: the service that stores API keys is ` +
          'guarded at startup',
      )
    }
  }

  /**
   * Creates the indexes of the service that stores the keys.
   * @throws {TypeError} it is not a `MongoDBService`, stores other records, or no strategy finds users
   */
  async setup(): Promise<void> {
    await this.#records?.prepare()
    this.#path = toServicePath(this.configuration.service)
  }

  /** The service that stores the keys. */
  get #keys(): ApiKeyService {
    return findRecordService(this.app, this.configuration.service, 'API keys')
  }

  /** Returns the key in the header. Keys in a query string are never read: URLs end up in logs. */
  parse({ headers }: Pick<AuthenticationHttpRequest, 'headers'>): AuthenticationRequest | null {
    const apiKey = headers[this.configuration.header.toLowerCase()]
    return typeof apiKey === 'string' && apiKey !== '' ? { strategy: this.name, apiKey } : null
  }

  /**
   * Returns `{ authentication: { strategy, payload: { sub, scopes, keyId } }, user }`, and records the use of the key.
   * The payload of a key that expires also has `exp`, in seconds since the epoch.
   * @throws {NotAuthenticated} the key is unknown or has expired, or its user no longer exists
   * @throws {Unavailable} the service that stores the keys is not set up
   */
  async authenticate(
    { apiKey }: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    await this.#records?.require()
    const key = await findApiKey(apiKey, this.#keys)
    const { userId, scopes, expiresAt } = key
    const keyId = String(key._id)
    if (expiresAt !== null && expiresAt.getTime() <= Date.now()) {
      throw createRefusal('The API key has expired', { keyId }, InvalidApiKey)
    }
    const payload = {
      ...(userId !== null && { sub: userId }),
      ...(expiresAt !== null && { exp: Math.floor(expiresAt.getTime() / 1000) }),
      ...{ scopes, keyId },
    }
    const result: AuthenticationResult = { authentication: { strategy: this.name, payload } }
    const { entity } = this.authentication.configuration
    if (entity != null) {
      const finder = findUserFinder(this.authentication)
      result[entity] = await finder?.getEntity(userId ?? '', params)
    }
    await this.#noteUse(key, keyId)
    return result
  }

  /**
   * Counts unknown keys as failed logins from their network address. They are counted afterwards, so that valid keys
   * neither wait nor count, however many requests use them.
   */
  async limitGuesses<T>(
    _request: AuthenticationRequest,
    params: AuthenticationParams,
    prove: (added?: AuthenticationParams) => Promise<T>,
  ): Promise<T> {
    try {
      return await prove()
    } catch (error) {
      const isGuess = error instanceof ServiceError && error.message === UNKNOWN_KEY
      if (!isGuess || params.address === undefined) throw error
      return limitLogins(this.authentication, null, params, () => Promise.reject(error))
    }
  }

  /** Records when a key was used. A failure is only logged: the key itself is valid. */
  async #noteUse({ usedAt }: StoredApiKey, keyId: string): Promise<void> {
    const now = new Date()
    const before = new Date(now.getTime() - USE_STEP_MS)
    if (usedAt !== null && usedAt > before) return
    // The condition lets only one of several concurrent requests write.
    const query = { $or: [{ usedAt: null }, { usedAt: { $lte: before } }] }
    try {
      await orNull(this.#keys._patch(keyId, { usedAt: now }, { query }), 404)
    } catch (error) {
      this.app.logger.error({ err: error, keyId }, 'The use of an API key could not be noted')
    }
  }
}
