import type { AuthenticationRequest, NotAuthenticated } from '../../core/index.ts'
import type { OptionRules } from '../../core/option-check.ts'
import { checkOptions, OPTION } from '../../core/option-check.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import { createNotAuthenticated } from '../auth-errors.ts'
import type { AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { Entity } from '../entity-service.ts'
import { getField } from '../field-path.ts'
import { upgradeHash } from '../passwords/password-upgrade.ts'
import type { PasswordOptions, PasswordVerdict } from '../passwords/passwords.ts'
import { checkPasswordLength, Passwords } from '../passwords/passwords.ts'
import type { AuthenticationConfiguration } from '../settings/authentication-config.ts'
import { ENTITY_RULES, getSection } from '../settings/authentication-config.ts'
import { AuthenticationBaseStrategy } from './base-strategy.ts'
import { toEntities, toEntityParams, toExternalEntity } from './entity.ts'

/** The section of the local strategy, with what it takes from the settings of the service. */
export interface LocalConfiguration {
  /** The name of the entity in results and params, `null` for none. */
  readonly entity: string | null
  /** The name of the id of an entity. Default: the property `id` of the entity service. */
  readonly entityId: string | undefined
  /** The path of the entity service. */
  readonly service: string | undefined
  /** The path of the user name in the data of a login. */
  readonly usernameField: string
  /** The path of the password in the data of a login. */
  readonly passwordField: string
  /** The field of the entity with the user name. Default: `usernameField`. */
  readonly entityUsernameField: string
  /** The path of the hash in the entity. Default: `passwordField`. */
  readonly entityPasswordField: string
  /** What every failing login is told. Default: `'Invalid login'`. */
  readonly errorMessage: string
  /** Parameters for the hashes. */
  readonly scrypt: PasswordOptions
}

const RULES: OptionRules = {
  ...ENTITY_RULES,
  usernameField: OPTION.string,
  passwordField: OPTION.string,
  entityUsernameField: OPTION.string,
  entityPasswordField: OPTION.string,
  errorMessage: OPTION.string,
  scrypt: OPTION.object,
  /** An option of bcrypt, in the settings of those who come from Feathers: it has no effect. */
  hashSize: { expected: 'anything', isValid: () => true },
}

interface Credentials {
  readonly username: string
  readonly password: string
}

/** Proves identity by a user name and a password: `{ strategy: 'local', email, password }`. */
export class LocalStrategy extends AuthenticationBaseStrategy {
  #base: AuthenticationConfiguration | null = null
  #configuration: Readonly<LocalConfiguration & Record<string, unknown>> | null = null
  #passwords: Passwords | null = null

  override get configuration(): Readonly<LocalConfiguration & Record<string, unknown>> {
    const base = this.authentication.configuration
    if (this.#configuration !== null && this.#base === base) return this.#configuration
    this.#base = base
    const { entity = null, entityId, service } = base
    const section = getSection(base, this.name) as Partial<LocalConfiguration>
    const { usernameField = '', passwordField = '' } = section
    this.#configuration = Object.freeze({
      entity,
      entityId,
      service,
      usernameField,
      passwordField,
      entityUsernameField: usernameField,
      entityPasswordField: passwordField,
      errorMessage: 'Invalid login',
      scrypt: {},
      ...section,
    })
    return this.#configuration
  }

  /** @throws {TypeError} an unknown option, or a required one is missing */
  verifyConfiguration(): void {
    const { configKey, configuration } = this.authentication
    const section = getSection(configuration, this.name)
    for (const required of ['usernameField', 'passwordField']) {
      if (isNonEmptyString(section[required])) continue
      throw new TypeError(`'${this.name}' authentication strategy requires a '${required}' setting`)
    }
    checkOptions(`the setting '${configKey}.${this.name}'`, section, RULES)
    this.#getPasswords()
  }

  /**
   * Returns `{ authentication: { strategy }, user }`. Every failure has the same message and takes
   * the same work, one check of a password: neither tells whether the user exists. Guesses are
   * limited by the service and the hooks.
   * @throws {NotAuthenticated} with the configured message
   */
  async authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): Promise<AuthenticationResult> {
    const { entity: name } = this.configuration
    const found = await this.#prove(request, params)
    const authentication = { strategy: this.name }
    if (name === null) return { authentication }
    return { authentication, [name]: await this.getEntity(found, params) }
  }

  /**
   * @throws {TooManyRequests} too many logins have failed, for this account or from this address
   */
  limitGuesses<T>(
    request: AuthenticationRequest,
    { address }: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T> {
    const { app, loginThrottle } = this.authentication
    if (loginThrottle === null) return prove()
    const account = this.#readCredentials(request)?.username ?? null
    return loginThrottle.run(account, address, prove, app.logger)
  }

  async #prove(request: AuthenticationRequest, params: AuthenticationParams): Promise<Entity> {
    const credentials = this.#readCredentials(request)
    if (credentials === null) return this.#refuse('', 'no user name and password')
    const { username, password } = credentials
    checkPasswordLength(password)
    const found = await this.findEntity(username, params)
    if (found === null) return this.#refuse(password, 'unknown user')
    await this.comparePassword(found, password)
    return found
  }

  /** Returns the query that finds an entity: override it to exclude some, `{ active: true }`. */
  async getEntityQuery(
    query: Record<string, unknown>,
    _params: AuthenticationParams,
  ): Promise<Record<string, unknown>> {
    return { $limit: 1, ...query }
  }

  /** Returns the entity with a user name, as it is stored; `null` when there is none. */
  async findEntity(username: string, params: AuthenticationParams): Promise<Entity | null> {
    const service = this.entityService
    if (service === null) throw createNotAuthenticated('Could not find entity service')
    const { entityUsernameField } = this.configuration
    const query = await this.getEntityQuery({ [entityUsernameField]: username }, params)
    const result = await service.find(toEntityParams(params, query))
    const [entity] = toEntities(result)
    return isObject(entity) ? entity : null
  }

  /**
   * Returns the entity if the password is correct, and stores a new hash when the old one
   * is outdated.
   * @throws {NotAuthenticated} the password is wrong, or the entity has none
   */
  async comparePassword(entity: Entity, password: string): Promise<Entity> {
    const { entityPasswordField } = this.configuration
    const stored = getField(entity, entityPasswordField)
    const verdict = await this.verifyPassword(password, stored)
    if (!verdict.isCorrect) {
      const reason = verdict.isMalformed ? 'the stored hash is malformed' : 'wrong password'
      throw this.#createError(stored === undefined ? 'user without password' : reason)
    }
    if (verdict.isOutdated) {
      const hash = await this.hashPassword(password)
      await upgradeHash(this, { entity, field: entityPasswordField, stored, hash })
    }
    return entity
  }

  /**
   * Checks a password against a stored hash; the work is the same for `undefined`, without a hash.
   */
  verifyPassword(password: string, stored: unknown): Promise<PasswordVerdict> {
    return this.#getPasswords().verify(password, stored)
  }

  /**
   * Returns the hash of a password, as it is to be stored.
   * @throws {BadRequest} the password is empty, longer than 1,024 bytes, or no string
   * @throws {Unavailable} too many passwords are being hashed; not for internal calls
   * @param params those of the call, whose `signal` ends the wait
   */
  hashPassword(password: unknown, params?: AuthenticationParams): Promise<string> {
    const { provider, signal } = params ?? {}
    return this.#getPasswords().hash(password, { isPatient: !provider, signal })
  }

  /** Returns the entity for the result: for external calls as callers outside may see it. */
  async getEntity(entity: Entity, params: AuthenticationParams): Promise<unknown> {
    const service = this.entityService
    const { entity: name, entityId } = this.configuration
    if (!params.provider || service === null || name === null) return entity
    const id = entity[entityId ?? service.id ?? 'id']
    if (id === undefined || id === null) throw createNotAuthenticated('Could not get local entity')
    return toExternalEntity(this, entity, id, params)
  }

  /** Returns two non-empty strings, or `null`: an object would be an operator in the query. */
  #readCredentials(request: AuthenticationRequest): Credentials | null {
    const { usernameField, passwordField } = this.configuration
    const username = getField(request, usernameField)
    const password = getField(request, passwordField)
    return isNonEmptyString(username) && isNonEmptyString(password) ? { username, password } : null
  }

  /** Refuses after as much work as checking a password takes. */
  async #refuse(password: string, reason: string): Promise<never> {
    await this.verifyPassword(password, undefined)
    throw this.#createError(reason)
  }

  #createError(reason: string): NotAuthenticated {
    return createNotAuthenticated(this.configuration.errorMessage, undefined, { reason })
  }

  #getPasswords(): Passwords {
    const { configKey } = this.authentication
    this.#passwords ??= new Passwords(
      this.configuration.scrypt,
      `the setting '${configKey}.${this.name}.scrypt'`,
    )
    return this.#passwords
  }
}
