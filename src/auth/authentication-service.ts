import type { AnyApplication, AuthenticationRequest, NullableId } from '../core/index.ts'
import { AuthenticationBase } from './authentication-base.ts'
import { DEFAULT_SETTING, installDefaultAuthentication } from './default-authentication.ts'
import { findEntityService, getIdName } from './entity-service.ts'
import { installLoginHooks } from './login-events.ts'
import { createNotAuthenticated } from './not-authenticated.ts'
import { mergeSettings } from './settings/settings-merge.ts'
import type { AuthenticationParams, AuthenticationResult } from './strategies/strategy.ts'
import { decodeClaims } from './tokens/access-token.ts'
import type { TokenOptions } from './tokens/token-options.ts'
import { toExpiryDate } from './tokens/token-revocation.ts'

/**
 * The service that logs users in and out: `create` takes `{ strategy, ... }` and returns
 * `{ accessToken, authentication, user }`, `remove` ends a login. Strategies are registered under
 * names; each method may be overridden.
 */
export class AuthenticationService extends AuthenticationBase {
  /**
   * Writes the defaults and the options into the setting.
   * @param configKey the key of the setting
   * @param options overrides what the setting holds, key by key
   */
  constructor(app: AnyApplication, configKey: string = 'authentication', options: object = {}) {
    if (typeof app?.use !== 'function') {
      throw new TypeError('An application instance has to be passed to the authentication service')
    }
    super(app, configKey, options)
    if (app.get(DEFAULT_SETTING) === undefined) app.set(DEFAULT_SETTING, configKey)
    installDefaultAuthentication(app)
    this.app.observe((change, _path, entry) => {
      if (change === 'added' && entry.service === this) installLoginHooks(entry, this)
    })
    this.app.on('disconnect', (connection: Record<string, unknown>) =>
      this.handleConnection('disconnect', connection),
    )
  }

  /** Returns further claims for the token of a login. */
  async getPayload(
    _result: AuthenticationResult,
    params: AuthenticationParams,
  ): Promise<Record<string, unknown>> {
    return params.payload ?? {}
  }

  /**
   * Returns the options for the token of a login: those of the params, with the entity's id as
   * subject.
   * @throws {NotAuthenticated} there is no entity, or it has no id
   */
  async getTokenOptions(
    result: AuthenticationResult,
    params: AuthenticationParams,
  ): Promise<TokenOptions> {
    const options: TokenOptions = mergeSettings(params.jwtOptions, params.jwt)
    const { entity, entityId, service } = this.configuration
    if (entity == null || service === undefined || options.subject !== undefined) return options
    const idName = entityId ?? getIdName(findEntityService(this.app, service)) ?? 'id'
    const { [idName]: id } = (result[entity] ?? {}) as Record<string, unknown>
    if (id === undefined || id === null) {
      throw createNotAuthenticated(`Can not set subject from ${entity}.${idName}`)
    }
    return { ...options, subject: String(id) }
  }

  /**
   * Logs in: returns `{ accessToken, authentication: { strategy, payload }, user }`.
   * @throws {NotAuthenticated} the strategy is not allowed, or refuses
   */
  async create(
    data: AuthenticationRequest,
    params: AuthenticationParams = {},
  ): Promise<AuthenticationResult> {
    const allowed = params.authStrategies ?? this.configuration.authStrategies
    if (allowed.length === 0) {
      throw createNotAuthenticated(
        'No authentication strategies allowed for creating a JWT (`authStrategies`)',
      )
    }
    const result = await this.authenticate(data, params, ...allowed)
    if (result.accessToken) return result
    const payload = await this.getPayload(result, params)
    const options = await this.getTokenOptions(result, params)
    const accessToken = await this.createAccessToken(payload, options, params.secret)
    const authentication = { ...result.authentication, payload: decodeClaims(accessToken) }
    return { accessToken, ...result, authentication }
  }

  /**
   * Logs out: proves once more who is behind the call, and revokes the token where the setting
   * `revocation` asks for it.
   * @param id `null`, or the access token of the call
   */
  async remove(id: NullableId, params: AuthenticationParams = {}): Promise<AuthenticationResult> {
    const { authentication } = params
    if (id != null && id !== authentication?.['accessToken']) {
      throw createNotAuthenticated('Invalid access token')
    }
    const { authStrategies } = this.configuration
    const result = await this.authenticate(authentication, params, ...authStrategies)
    const list = this.revocationList
    if (list !== null && result.accessToken !== undefined) {
      const payload = await this.verifyAccessToken(result.accessToken, params.jwt, params.secret)
      await list.revoke(payload.jti, toExpiryDate(payload, this.#getTolerance(params)))
    }
    return result
  }

  /** Returns for how many seconds after its expiry a token may be accepted. */
  #getTolerance({ jwt }: AuthenticationParams): number {
    const { clockTolerance = 0 } = this.configuration.jwtOptions
    return Math.max(clockTolerance, jwt?.clockTolerance ?? 0)
  }
}
