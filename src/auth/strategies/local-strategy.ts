import type { AuthenticationRequest } from '../../core/index.ts'
import { NotAuthenticated } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import { isNonEmptyString, isPlainObject } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { AuthenticationResult } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { Entity } from '../entity-service.ts'
import {
  createEntityParams,
  getEntityIdName,
  getField,
  getFirstEntity,
  readResultEntity,
} from '../entity-service.ts'
import type { PasswordOptions, PasswordVerdict } from '../passwords/passwords.ts'
import { checkPassword, HASH_RULES, Passwords } from '../passwords/passwords.ts'
import type { EntityConfiguration } from '../settings/authentication-config.ts'
import { ENTITY_RULES, getSection } from '../settings/authentication-config.ts'
import { getNetwork } from '../throttle/network.ts'
import type { Turn } from '../work-queue.ts'
import { AuthenticationBaseStrategy } from './base-strategy.ts'

/** The section of the local strategy, with what it takes from the settings of the service. */
export interface LocalConfiguration extends EntityConfiguration {
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
  /** What makes new hashes: `'bcrypt'` is for packages that compare hashes by bcrypt themselves. */
  readonly hash: 'scrypt' | 'bcrypt'
  /** The cost of hashes by bcrypt, from 10 to 12; without effect on those by scrypt. Default: 10. */
  readonly hashSize?: number
  /** Parameters for hashes by scrypt, and how many hashes are computed at a time and may wait. */
  readonly scrypt: PasswordOptions
}

const RULES: OptionRules = {
  ...ENTITY_RULES,
  usernameField: OPTION.string,
  passwordField: OPTION.string,
  entityUsernameField: OPTION.string,
  entityPasswordField: OPTION.string,
  errorMessage: OPTION.string,
  hash: HASH_RULES.hash,
  /** Any value where hashes are by scrypt: it stands in the settings of those who come from Feathers. */
  hashSize: { expected: 'anything', isValid: () => true },
  scrypt: OPTION.object,
}

/** Proves identity by a user name and a password: `{ strategy: 'local', email, password }`. */
export class LocalStrategy extends AuthenticationBaseStrategy {
  #passwords: Passwords | null = null

  override get configuration(): Readonly<LocalConfiguration & Record<string, unknown>> {
    const { configuration } = this.authentication
    const { entity = null, entityId, service } = configuration
    const section = getSection(configuration, this.name) as Partial<LocalConfiguration>
    const { usernameField = '', passwordField = '' } = section
    return Object.freeze({
      ...{ entity, entityId, service, usernameField, passwordField },
      entityUsernameField: usernameField,
      entityPasswordField: passwordField,
      errorMessage: 'Invalid login',
      hash: 'scrypt',
      scrypt: {},
      ...section,
    })
  }

  /** @throws {TypeError} an unknown option, or a required one is missing */
  verifyConfiguration(): void {
    const { configKey, configuration } = this.authentication
    const section = getSection(configuration, this.name)
    for (const required of ['usernameField', 'passwordField']) {
      if (isNonEmptyString(section[required])) continue
      throw new TypeError(`'${this.name}' authentication strategy requires a '${required}' setting`)
    }
    const rules = section['hash'] === 'bcrypt' ? { ...RULES, ...HASH_RULES } : RULES
    checkOptions(`the setting '${configKey}.${this.name}'`, section, rules)
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

  /** @throws {TooManyRequests} too many logins of this account or address have failed */
  limitGuesses<T>(
    request: AuthenticationRequest,
    { address, signal }: AuthenticationParams,
    prove: (added?: AuthenticationParams) => Promise<T>,
  ): Promise<T> {
    const { app, loginThrottle } = this.authentication
    // On the params of a transport the signal is a getter, which copies lack.
    const own = signal === undefined ? {} : { signal }
    if (loginThrottle === null) return prove(own)
    const account = this.#readCredentials(request)?.username ?? null
    const proveCounted = (added: AuthenticationParams) => prove({ ...own, ...added })
    return loginThrottle.run(account, address, proveCounted, { logger: app.logger, signal })
  }

  async #prove(request: AuthenticationRequest, params: AuthenticationParams): Promise<Entity> {
    const credentials = this.#readCredentials(request)
    if (credentials === null) return this.#refuse('', 'no user name and password', params)
    const { username, password } = credentials
    checkPassword(password)
    const found = await this.findEntity(username, params)
    // A collation may find a user by many names. The name is counted where nobody is found, since that
    // takes as long.
    const id = found?.[getEntityIdName(this)] ?? null
    const user = id === null ? `name ${username}` : `id ${id}`
    const { service } = this.configuration
    const isWithinLimit = (await params.attempt?.countUser(`${service} ${user}`)) ?? true
    if (found === null) return this.#refuse(password, 'unknown user', params)
    if (!isWithinLimit) {
      // With another answer than for a wrong password, the limit would tell that there is a user.
      return this.#refuse(password, 'too many failed logins of this user', params)
    }
    params.proven?.push(found)
    await this.comparePassword(found, password, params)
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
    if (service === null) throw new NotAuthenticated('Could not find entity service')
    const { entityUsernameField } = this.configuration
    const query = await this.getEntityQuery({ [entityUsernameField]: username }, params)
    return getFirstEntity(await service.find(createEntityParams(params, query)))
  }

  /**
   * Returns the entity if the password is correct, and stores a new hash when the old one
   * is outdated.
   * @param params those of the call, whose address takes its turn, and whose `signal` ends the wait
   * @throws {NotAuthenticated} the password is wrong, or the entity has none
   */
  async comparePassword(
    entity: Entity,
    password: string,
    params?: AuthenticationParams,
  ): Promise<Entity> {
    const { entityPasswordField, errorMessage } = this.configuration
    const stored = getField(entity, entityPasswordField)
    const verdict = await this.verifyPassword(password, stored, params)
    if (!verdict.isCorrect) {
      const reason = verdict.isMalformed ? 'the stored hash is malformed' : 'wrong password'
      throw createRefusal(errorMessage, stored === undefined ? 'user without password' : reason)
    }
    if (verdict.isOutdated) await this.#upgradeHash(entity, password, params)
    return entity
  }

  /**
   * Checks a password against a stored hash as {@link Passwords.verify} does.
   * @param params as for {@link comparePassword}
   */
  verifyPassword(
    password: string,
    stored: unknown,
    params?: AuthenticationParams,
  ): Promise<PasswordVerdict> {
    return this.#getPasswords().verify(password, stored, createTurn(params))
  }

  /**
   * Checks what is to become a password, before anything is hashed.
   * @throws {BadRequest} it is empty, no string, or longer than 1,024 bytes, or 72 where `hash` is bcrypt
   */
  checkPassword(password: unknown): void {
    const passwords: Passwords = this.#getPasswords()
    passwords.check(password)
  }

  /**
   * Returns the hash of a password, as {@link Passwords.hash} does.
   * @param params as for {@link comparePassword}; without `provider` and `address` it waits however many
   *   are waiting
   * @param replaced the outdated hash of the same password: sessions that know it go on with the new one
   */
  hashPassword(
    password: unknown,
    params?: AuthenticationParams,
    replaced?: string,
  ): Promise<string> {
    const isPatient = !params?.provider && params?.address === undefined
    return this.#getPasswords().hash(password, { ...createTurn(params), isPatient }, replaced)
  }

  /**
   * Returns the entity for the result: for external calls as callers outside may see it.
   * @throws {NotAuthenticated} it has no id
   */
  async getEntity(entity: Entity, params: AuthenticationParams): Promise<unknown> {
    const service = this.entityService
    if (service === null || this.configuration.entity === null) return entity
    const id = entity[getEntityIdName(this)]
    return readResultEntity(this, entity, id, params, 'Could not get local entity')
  }

  /** Returns two non-empty strings, or `null`: an object would be an operator in the query. */
  #readCredentials(
    request: AuthenticationRequest,
  ): { readonly username: string; readonly password: string } | null {
    const { usernameField, passwordField } = this.configuration
    const username = getField(request, usernameField)
    const password = getField(request, passwordField)
    return isNonEmptyString(username) && isNonEmptyString(password) ? { username, password } : null
  }

  /** Refuses after as much work as checking a password takes. */
  async #refuse(password: string, reason: string, params: AuthenticationParams): Promise<never> {
    await this.verifyPassword(password, undefined, params)
    throw createRefusal(this.configuration.errorMessage, reason)
  }

  /**
   * Stores a new hash of the same password. The hooks of the service don't run: they would hash
   * the hash, and emit an event for a user who has changed nothing. A password that was changed
   * meanwhile stays, as the outdated hash is part of the query. A failure is logged: the login
   * itself went well.
   */
  async #upgradeHash(
    entity: Entity,
    password: string,
    params?: AuthenticationParams,
  ): Promise<void> {
    const { entityService: service, configuration } = this
    const { entityPasswordField: field } = configuration
    const methods = service === null ? undefined : findServiceEntry(service)?.methods
    const get = methods?.get('get')
    const patch = methods?.get('patch')
    if (get === undefined || patch === undefined) return
    const id = entity[getEntityIdName(this)]
    const outdated = getField(entity, field)
    const query = { [field]: outdated }
    try {
      // First, since it takes long, and what is read afterwards may change meanwhile.
      const hash = await this.hashPassword(password, params, String(outdated))
      // The outermost field is read once more as it is stored: hooks may have changed it in the
      // entity.
      const isNested = field.includes('.')
      const record = isNested ? await get.original.call(service, id, { query }) : entity
      await patch.original.call(service, id, createChange(record as Entity, field, hash), { query })
    } catch (error) {
      this.app.logger.warn({ err: error }, 'An outdated password hash was not replaced')
    }
  }

  #getPasswords(): Passwords {
    const { hash, hashSize, scrypt } = this.configuration
    const owner = `the setting '${this.authentication.configKey}.${this.name}.scrypt'`
    const options = hash === 'bcrypt' && hashSize !== undefined ? { hash, hashSize } : { hash }
    this.#passwords ??= new Passwords(scrypt, owner, options)
    return this.#passwords
  }
}

/** Callers of one network take turns as one. */
function createTurn({ address, signal }: AuthenticationParams = {}): Turn {
  return { caller: address === undefined ? undefined : getNetwork(address), signal }
}

/** Returns the outermost field of a dotted path with another value in it, and else as it is. */
function createChange(record: Entity, path: string, value: unknown): Entity {
  const [key = '', ...rest] = path.split('.')
  if (rest.length === 0) return { [key]: value }
  const inner = isPlainObject(record[key]) ? record[key] : {}
  return { [key]: { ...inner, ...createChange(inner, rest.join('.'), value) } }
}
