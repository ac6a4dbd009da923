import {
  InvalidToken,
  LoginEnded,
  LoginMisconfigured,
  LoginRequired,
} from '../../core/errors/coded-errors.ts'
import { SettingError } from '../../core/errors/setup-errors.ts'
import type { AuthenticationRequest } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isObject } from '../../core/value-kind.ts'
import { createRefusal, describeRefusal } from '../auth-errors.ts'
import type {
  AuthenticationHttpRequest,
  AuthenticationResult,
  ConnectionEvent,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { Entity } from '../entity-service.ts'
import { createEntityParams, getEntityIdName, readResultEntity } from '../entity-service.ts'
import { getTokenClaims } from '../proof.ts'
import type { EntityConfiguration } from '../settings/authentication-config.ts'
import { ENTITY_RULES, getSection } from '../settings/authentication-config.ts'
import { deriveOnce } from '../settings-values.ts'
import { MemoryThrottleStore } from '../throttle/throttle-store.ts'
import type { AccessTokenPayload } from '../tokens/token-claims.ts'
import { TOKEN_RULES } from '../tokens/token-options.ts'
import { AuthenticationBaseStrategy } from './base-strategy.ts'

/** The section of the JWT strategy, with the defaults from the settings of the service. */
export interface JwtConfiguration extends EntityConfiguration {
  /** The header with the token. Default: `'Authorization'`. */
  readonly header: string
  /** The schemes before the token, case-insensitive. Default: `['Bearer', 'JWT']`. */
  readonly schemes: readonly string[]
}

const RULES: OptionRules = { ...ENTITY_RULES, header: OPTION.string, schemes: OPTION.stringList }

const MAX_LOG_LINES = 10
const LOG_WINDOW_MS = 10_000

/** The longest delay of a timer. Node fires longer ones at once, so longer waits are split. */
const MAX_WAIT_MS = 2 ** 31 - 1

/** Authenticates by an access token, from a header or as `{ strategy: 'jwt', accessToken }`. */
export class JwtStrategy extends AuthenticationBaseStrategy {
  /** Returns the configuration, with what `parse` needs on every request. */
  readonly #prepare = deriveOnce(
    () => this.authentication.configuration,
    (base) => {
      const { entity = null, entityId, service } = base
      const section: Partial<JwtConfiguration> = getSection(base, this.name)
      const configuration: Readonly<JwtConfiguration & Record<string, unknown>> = Object.freeze({
        ...{ entity, entityId, service, header: 'Authorization', schemes: ['Bearer', 'JWT'] },
        ...section,
      })
      const schemes = new Set(configuration.schemes.map((scheme) => scheme.toLowerCase()))
      return { configuration, headerName: configuration.header.toLowerCase(), schemes }
    },
  )
  /** Counts rejected tokens. */
  readonly #refusals = new MemoryThrottleStore()
  /** How many rejected tokens were not logged since the last one that was. */
  #omitted = 0
  /** Keyed by connection. Connections belong to other code, so no property is added to them. */
  readonly #timers = new WeakMap<object, NodeJS.Timeout>()

  override get configuration(): Readonly<JwtConfiguration & Record<string, unknown>> {
    return this.#prepare().configuration
  }

  /** A bearer token or a custom header, depending on the settings. */
  get securityScheme(): Readonly<Record<string, unknown>> {
    const { configuration, headerName, schemes } = this.#prepare()
    const description = 'The `accessToken` that a login returns.'
    return headerName === 'authorization' && schemes.has('bearer')
      ? { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description }
      : { type: 'apiKey', in: 'header', name: configuration.header, description }
  }

  /** @throws {TypeError} an option is unknown or invalid, or the section names another entity */
  verifyConfiguration(): void {
    const { configKey, configuration } = this.authentication
    const section = getSection(configuration, this.name)
    const owner = `the setting '${configKey}.${this.name}'`
    const misplaced = Object.keys(section).find(
      (name) => !Object.hasOwn(RULES, name) && Object.hasOwn(TOKEN_RULES, name),
    )
    if (misplaced !== undefined) {
      throw new SettingError(
        `${owner}: the option '${misplaced}' belongs to the setting '${configKey}.jwtOptions'`,
      )
    }
    checkOptions(owner, section, RULES)
    // A token names the id of its user, but not the service of that user.
    for (const name of ['entity', 'service'] as const) {
      if (section[name] === undefined || configuration[name] === undefined) continue
      if (section[name] === configuration[name]) continue
      throw new SettingError(
        `'${configKey}.${this.name}.${name}' is '${section[name]}', but the tokens of this service are for '${configuration[name]}': use a second AuthenticationService`,
      )
    }
  }

  /**
   * Returns the token of a header with one of the schemes, `Bearer token` or `Bearer: token`; a single word is a token
   * without a scheme.
   */
  parse(request: Partial<AuthenticationHttpRequest>): AuthenticationRequest | null {
    const { headerName, schemes } = this.#prepare()
    const value = request.headers?.[headerName]
    if (typeof value !== 'string') return null
    const credentials = value.trim()
    if (credentials === '') return null
    const blank = credentials.search(/\s/)
    if (blank === -1) return { strategy: this.name, accessToken: credentials }
    const scheme = credentials.slice(0, blank).toLowerCase()
    const isKnown =
      schemes.has(scheme) || (scheme.endsWith(':') && schemes.has(scheme.slice(0, -1)))
    return isKnown ? { strategy: this.name, accessToken: credentials.slice(blank).trim() } : null
  }

  /**
   * Returns `{ accessToken, authentication: { strategy, accessToken, payload }, user }`.
   * @throws {NotAuthenticated} the token is invalid, or its user no longer exists
   */
  async authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    const { accessToken } = request as { accessToken?: unknown }
    if (!accessToken) throw new LoginRequired('No access token')
    let payload: AccessTokenPayload | undefined
    try {
      const { jwt, secret } = params
      payload = await this.authentication.verifyAccessToken(accessToken, jwt, secret)
      const token = accessToken as string
      const result: AuthenticationResult = {
        accessToken: token,
        authentication: { strategy: this.name, accessToken: token, payload },
      }
      const { entity } = this.configuration
      if (entity !== null) {
        result[entity] = await this.getEntity(this.getEntityId(payload), params)
      }
      return result
    } catch (error) {
      const { jti, sub } = payload ?? {}
      this.#logRefusal(error, params, jti === undefined ? {} : { jti, sub })
      throw error
    }
  }

  /** Returns the id of the entity that a token belongs to. */
  getEntityId(payload: AccessTokenPayload): string {
    if (payload.sub === undefined) throw new InvalidToken('jwt sub claim is required')
    return payload.sub
  }

  /** Returns the query for reading the entity. Override it to exclude some: `{ active: true }`. */
  getEntityQuery(
    _params: AuthenticationParams,
  ): Record<string, unknown> | Promise<Record<string, unknown>> {
    return {}
  }

  /**
   * Returns the entity with an id; for external calls, as external callers may see it.
   * @throws {NotAuthenticated} the entity no longer exists
   */
  async getEntity(id: string, params: AuthenticationParams): Promise<Entity> {
    const service = this.entityService
    const { entity: name } = this.configuration
    if (service === null || name === null) {
      throw new LoginMisconfigured('Could not find entity service')
    }
    const missing = `The ${name} of the token does not exist`
    const query = this.getEntityQuery(params)
    const entityParams = createEntityParams(params, query instanceof Promise ? await query : query)
    try {
      const entity = await service.get(id, entityParams)
      if (!isObject(entity)) throw new LoginEnded(missing)
      // An earlier record of the same user is the proof: this one may already include a later change.
      if (params.proven?.every((one) => String(one[getEntityIdName(this)]) !== String(id))) {
        params.proven.push(entity)
      }
      return params.provider
        ? ((await readResultEntity(this, entity, id, params, missing)) as Entity)
        : entity
    } catch (error) {
      // The id is unknown or malformed. Any other error, for example of the database, says nothing about the token.
      const isMissing = error instanceof ServiceError && (error.code === 404 || error.code === 400)
      if (!isMissing) throw error
      throw createRefusal(missing, error, LoginEnded)
    }
  }

  /** Keeps the login of a real-time connection until logout, disconnect or the expiry of the token. */
  handleConnection(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): void | Promise<void> {
    const { entity } = this.configuration
    const { accessToken, authentication } = result ?? {}
    if (event === 'login') {
      const { exp } = getTokenClaims(authentication)
      if (accessToken === undefined || typeof exp !== 'number') return
      this.#watchExpiry(connection, exp * 1000)
      connection['authentication'] = { strategy: this.name, accessToken }
      if (entity !== null) connection[entity] = result?.[entity]
      return
    }
    const current = connection['authentication'] as { accessToken?: unknown } | undefined
    if (event === 'logout' && current?.accessToken !== accessToken) return
    // Deferred, so that other listeners of `disconnect` still see the user.
    return new Promise((resolve) => {
      process.nextTick(() => {
        this.#watchExpiry(connection, null)
        delete connection['authentication']
        if (entity !== null) delete connection[entity]
        resolve()
      })
    })
  }

  /**
   * Logs why a token was rejected, at most ten times in ten seconds: a flood of forged tokens must not fill the disk.
   * Expired tokens are not logged, as every client sends some; nor are errors of the server, nor external logins and
   * logouts, which have their own log line.
   */
  #logRefusal(error: unknown, { provider, address }: AuthenticationParams, known: object): void {
    if (provider || !(error instanceof ServiceError) || error.code !== 401) return
    if ((error.data as { name?: unknown } | undefined)?.name === 'TokenExpiredError') return
    const { count } = this.#refusals.add('token', LOG_WINDOW_MS)
    if (count > MAX_LOG_LINES) {
      this.#omitted += 1
      return
    }
    const omitted = this.#omitted === 0 ? {} : { omitted: this.#omitted }
    this.#omitted = 0
    const line = { event: 'token', strategy: this.name, address, ...known }
    this.app.logger.warn({ ...line, ...describeRefusal(error), ...omitted }, 'Token rejected')
  }

  /**
   * Emits `disconnect` when the token of a connection expires, unless the connection is watched again before.
   * @param expiresAt milliseconds since the epoch, `null` to stop watching
   */
  #watchExpiry(connection: object, expiresAt: number | null): void {
    clearTimeout(this.#timers.get(connection))
    this.#timers.delete(connection)
    if (expiresAt === null) return
    const waitMs = Math.max(0, expiresAt - Date.now())
    const end = () => {
      if (waitMs > MAX_WAIT_MS) this.#watchExpiry(connection, expiresAt)
      else this.app.emit('disconnect', connection)
    }
    this.#timers.set(connection, setTimeout(end, Math.min(waitMs, MAX_WAIT_MS)).unref())
  }
}
