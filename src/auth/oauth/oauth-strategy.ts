import { LoginMisconfigured, OAuthFailed, OAuthRejected } from '../../core/errors/coded-errors.ts'
import { SettingError } from '../../core/errors/setup-errors.ts'
import type { AuthenticationRequest, Query } from '../../core/index.ts'
import { Conflict, NotFound } from '../../core/index.ts'
import { getFirst } from '../../core/results.ts'
import { isObject } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { Authentication, AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { withoutProvider } from '../authentication-params.ts'
import type { Entity, EntityService } from '../entity-service.ts'
import {
  createEntityParams,
  findEntityService,
  getEntityIdName,
  readResultEntity,
} from '../entity-service.ts'
import { isProvenProfile, limitLogins } from '../proof.ts'
import { AuthenticationBaseStrategy } from '../strategies/base-strategy.ts'
import type { OAuthOutcome } from './page-address.ts'
import { addOutcome, checkOrigin, joinPageAddress } from './page-address.ts'
import type { OAuthProfile } from './provider/profile.ts'
import { getProfileId, isWellFormed } from './provider/profile.ts'
import { ProviderAccess, proveDirectly } from './provider-access.ts'
import { checkOAuthSettings, findOAuthSettings } from './settings/oauth-settings.ts'
import { findVerifiedEmail } from './settings/provider-settings.ts'

/** Additional params that the strategy reads. */
export interface OAuthParams extends AuthenticationParams {
  /** What a caller appended to the address of the page after the login. */
  redirect?: string | undefined
}

/**
 * Logs in with an account at a provider, `authentication.oauth.NAME`, over the services of `oauth()`. Subclasses may
 * override each step, for example which entity belongs to a profile and what is stored from it.
 */
export class OAuthStrategy extends AuthenticationBaseStrategy {
  #access: ProviderAccess | null = null
  /** Whether the provider had a section at startup; `null` before that. */
  #isOn: boolean | null = null

  /** @internal */
  get providerAccess(): ProviderAccess {
    this.#access ??= new ProviderAccess(this.authentication, this.name)
    return this.#access
  }

  /** The section of the provider, with the entity settings of the authentication service. */
  override get configuration(): Readonly<Record<string, unknown>> {
    const { entity = null, entityId, service } = this.authentication.configuration
    if (!this.providerAccess.hasSection) return { entity, entityId, service }
    const { oauth } = this.providerAccess
    return { entity, entityId, service, ...oauth.defaults, ...(oauth[this.name] as object) }
  }

  /**
   * Whether the strategy accepts logins. Without settings it stays off until the application restarts with them.
   * @internal
   */
  get isOn(): boolean {
    return this.#isOn !== false && this.providerAccess.hasSection
  }

  /** The name of the id of an entity. */
  get entityId(): string {
    return getEntityIdName(this)
  }

  /**
   * @throws {TypeError} the section of the provider is invalid, or was added or removed while the application is
   *   running
   */
  verifyConfiguration(): void {
    const { configKey, configuration } = this.authentication
    const settings = findOAuthSettings(configuration)
    if (settings !== null) checkOAuthSettings(`${configKey}.oauth`, settings)
    const { hasSection, place } = this.providerAccess
    if (hasSection && this.#isOn === false) {
      throw new SettingError(`'${place}' was not set at the start: start the application again`)
    }
    if (hasSection || this.#isOn === true) this.providerAccess.verify()
  }

  /**
   * Logs a warning and stays off if the provider has no settings.
   * @throws {TypeError} there is no entity service, or no way to give a page a refresh token
   */
  setup(service: Authentication, name: string): void {
    const { hasSection, place } = this.providerAccess
    this.#isOn = hasSection
    if (!hasSection) {
      const message = `The strategy '${name}' has no settings, so it is off`
      service.app.logger.warn({ setting: place }, message)
      return
    }
    const { entity, service: path } = this.configuration
    this.providerAccess.checkResponse()
    if (entity !== null && findEntityService(service.app, path) !== null) return
    const reason = entity === null ? "'entity' is null" : `there is no service '${path}'`
    throw new SettingError(
      `The strategy '${name}' keeps accounts in an entity service, but ${reason}`,
    )
  }

  /**
   * Returns `{ authentication: { strategy }, user }` for the person whom the provider has confirmed. Instead of a flow,
   * a caller may send an id token of the provider, or the code of a login.
   * @throws {NotAuthenticated} nothing confirms the identity of the caller
   */
  async authenticate(
    request: AuthenticationRequest,
    params: OAuthParams,
  ): Promise<AuthenticationResult> {
    if (!this.isOn) throw new OAuthRejected(`Logins by '${this.name}' are not configured`)
    const { entity: name } = this.configuration
    const { code, profile } = request
    const internal = withoutProvider(params)
    const entity =
      code !== undefined && profile === undefined
        ? await this.#redeem(code, internal)
        : await this.#findOrCreate(await this.#prove(request, internal), internal)
    params.proven?.push(entity)
    const authentication = { strategy: this.name }
    return { authentication, [String(name)]: await this.getEntity(entity, params) }
  }

  /**
   * Limits the proofs that external callers send, since each may cause a request to the provider. A profile confirmed
   * in a flow is not a guess and does not count.
   * @throws {TooManyRequests} too many logins from this address have failed
   */
  limitGuesses<T>(
    request: AuthenticationRequest,
    params: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    if (isProvenProfile(request['profile'], this.name)) return prove()
    return limitLogins(this.authentication, null, params, prove)
  }

  /** Returns the profile of the person who has logged in. An override may request more from the provider. */
  async getProfile(data: AuthenticationRequest, _params: OAuthParams): Promise<OAuthProfile> {
    return data['profile'] as OAuthProfile
  }

  /** Returns the query for the entity of a profile. */
  async getEntityQuery(
    profile: OAuthProfile,
    _params: OAuthParams,
  ): Promise<Record<string, unknown>> {
    return { [`${this.name}Id`]: String(getProfileId(profile)) }
  }

  /**
   * Returns what is stored from a profile: its id, as a string.
   * @param _existing the entity to change, `null` for a new one
   */
  async getEntityData(
    profile: OAuthProfile,
    _existing: Entity | null,
    _params: OAuthParams,
  ): Promise<Entity> {
    return { [`${this.name}Id`]: String(getProfileId(profile)) }
  }

  /**
   * Returns the entity of a profile, `null` if there is none. A numeric id is also looked up as a number, as
   * applications of Feathers stored it.
   */
  async findEntity(profile: OAuthProfile, params: OAuthParams): Promise<Entity | null> {
    const query = await this.getEntityQuery(profile, params)
    const found = await this.#findOne(query, params)
    const field = `${this.name}Id`
    const id = profile['sub'] ?? profile['id']
    if (found !== null || typeof id !== 'number' || query[field] !== String(id)) return found
    return this.#findOne({ ...query, [field]: id }, params)
  }

  /** Returns the entity that is already logged in: the account to link the login to. */
  async getCurrentEntity(params: OAuthParams): Promise<Entity | null> {
    const { authentication } = params
    const { entity: name } = this.configuration
    if (authentication?.strategy === undefined) return null
    const { strategy } = authentication
    const result = await this.authentication.authenticate(authentication, params, strategy)
    const entity = result[String(name)]
    return isObject(entity) ? entity : null
  }

  /** Creates an entity for a profile. */
  async createEntity(profile: OAuthProfile, params: OAuthParams): Promise<Entity> {
    const data = await this.getEntityData(profile, null, params)
    const { create } = this.#entities
    if (create === undefined) throw new OAuthRejected('You have no account here')
    return (await create.call(this.#entities, data, createEntityParams(params, {}))) as Entity
  }

  /** Updates an entity with the current profile. */
  async updateEntity(entity: Entity, profile: OAuthProfile, params: OAuthParams): Promise<Entity> {
    const data = await this.getEntityData(profile, entity, params)
    const { patch } = this.#entities
    if (patch === undefined) return entity
    const id = entity[this.entityId]
    return (await patch.call(this.#entities, id, data, createEntityParams(params, {}))) as Entity
  }

  /** Returns the entity for the result; for external calls, as external callers may see it. */
  async getEntity(entity: Entity, params: OAuthParams): Promise<unknown> {
    const id = entity[this.entityId]
    return readResultEntity(this, entity, id, params, 'Could not get oAuth entity')
  }

  /**
   * Returns the email address of a profile if the provider confirms that it is the person's, otherwise `null`. How far
   * to trust it depends on the provider; see the page on OAuth.
   */
  getVerifiedEmail(profile: OAuthProfile): string | null {
    return findVerifiedEmail(this.name, profile)
  }

  /**
   * Returns the base address of the page after a login: one of the allowed origins, or the setting `redirect`.
   * @throws {NotAuthenticated} the login started on a page of another origin
   */
  async getAllowedOrigin(params: OAuthParams = {}): Promise<string | undefined> {
    const { redirect, origins, allowLoopbackPorts = false } = this.providerAccess.oauth
    const allowed = origins ?? (this.app.get('origins') as readonly string[] | undefined)
    if (!Array.isArray(allowed)) return redirect
    return checkOrigin(params.headers?.['referer'], allowed, allowLoopbackPorts)
  }

  /**
   * Returns the address of the page after a login, with its outcome; `null` if there is no page.
   * @throws {NotAuthenticated} the login should return to another origin
   */
  async getRedirect(outcome: OAuthOutcome, params: OAuthParams = {}): Promise<string | null> {
    const base = await this.getAllowedOrigin(params)
    if (!base) return null
    const address = joinPageAddress(base, params.redirect ?? '')
    return addOutcome(address, outcome, this.name)
  }

  get #entities(): EntityService {
    const service = this.entityService
    if (service === null) throw new LoginMisconfigured('Could not find entity service')
    return service
  }

  /**
   * Returns the entity that a query finds, `null` if there is none.
   * @throws {NotAuthenticated} a string of the query has a lone surrogate
   * @throws {GeneralError} the service returns a record without an id
   */
  async #findOne(query: Query, params: OAuthParams): Promise<Entity | null> {
    // A condition without a value, such as `email: null`, would match every entity that lacks the field.
    if (Object.values(query).some((value) => value === null || value === undefined)) return null
    // Databases store every lone surrogate as U+FFFD, so the entity of another profile would match.
    if (!isWellFormed(query)) {
      const reason = 'what the entity is looked for by is not well-formed Unicode'
      throw createRefusal('The provider does not say who you are', reason, OAuthRejected)
    }
    const entity = getFirst(
      await this.#entities.find(createEntityParams(params, { $limit: 1, ...query })),
    )
    if (entity === undefined || entity === null) return null
    if (isObject(entity) && entity[this.entityId] != null) return entity
    throw new OAuthFailed(`The entities of the service have no '${this.entityId}'`)
  }

  async #prove(request: AuthenticationRequest, params: OAuthParams): Promise<OAuthProfile> {
    const isProven = isProvenProfile(request['profile'], this.name)
    const data = isProven ? request : await proveDirectly(this.providerAccess, request, params)
    return this.getProfile(data, params)
  }

  async #redeem(code: unknown, params: OAuthParams): Promise<Entity> {
    const id = await this.providerAccess.redeemCode(code)
    try {
      return (await this.#entities.get(id, createEntityParams(params, {}))) as Entity
    } catch (error) {
      if (!(error instanceof NotFound)) throw error
      throw createRefusal('The account of the code does not exist', error, OAuthRejected)
    }
  }

  async #findOrCreate(profile: OAuthProfile, params: OAuthParams): Promise<Entity> {
    const current = await this.getCurrentEntity(params)
    const known = await this.findEntity(profile, params)
    if (known !== null) {
      this.#checkOwner(known, current)
      params.proven?.push(known)
    }
    const entity = known ?? current
    if (known === null && current !== null && this.#entities.patch === undefined) {
      throw new LoginMisconfigured('Cannot link accounts: the entity service has no patch')
    }
    try {
      return await (entity === null
        ? this.createEntity(profile, params)
        : this.updateEntity(entity, profile, params))
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      // The same profile has logged in at the same time, or a unique field is taken.
      const found = known === null ? await this.findEntity(profile, params) : null
      if (found === null) throw createRefusal(TAKEN, error, OAuthRejected)
      this.#checkOwner(found, current)
      return found
    }
  }

  /** @throws {NotAuthenticated} the profile belongs to another entity than the one logged in */
  #checkOwner(entity: Entity, current: Entity | null): void {
    if (current === null || String(entity[this.entityId]) === String(current[this.entityId])) return
    throw new OAuthRejected(`This ${this.name} account belongs to another account here`)
  }
}

const TAKEN = 'There is an account with these details: log in to it, then link this one'
