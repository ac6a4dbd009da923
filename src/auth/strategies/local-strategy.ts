import { LoginMisconfigured } from '../../core/errors/coded-errors.ts'
import { SettingError } from '../../core/errors/setup-errors.ts'
import type { AuthenticationRequest } from '../../core/index.ts'
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
import { limitLogins } from '../proof.ts'
import type { EntityConfiguration } from '../settings/authentication-config.ts'
import { ENTITY_RULES, getSection } from '../settings/authentication-config.ts'
import { getNetwork } from '../throttle/network.ts'
import type { Turn } from '../work-queue.ts'
import { AuthenticationBaseStrategy } from './base-strategy.ts'

/** The section of the local strategy, with the defaults from the settings of the service. */
export interface LocalConfiguration extends EntityConfiguration {
  /** The path of the user name in the data of a login. */
  readonly usernameField: string
  /** The path of the password in the data of a login. */
  readonly passwordField: string
  /** The field of the entity that holds the user name. Default: `usernameField`. */
  readonly entityUsernameField: string
  /** The path of the hash in the entity. Default: `passwordField`. */
  readonly entityPasswordField: string
  /** The message of every failed login. Default: `'Invalid login'`. */
  readonly errorMessage: string
  /** The algorithm for new hashes. `'bcrypt'` is for packages that compare bcrypt hashes themselves. */
  readonly hash: 'scrypt' | 'bcrypt'
  /** The cost of bcrypt hashes, from 10 to 12; ignored with scrypt. Default: 10. */
  readonly hashSize?: number
  /** Parameters of scrypt, and how many hashes may be computed at a time and may wait. */
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
  /** Any value is allowed with scrypt: settings migrated from Feathers contain it. */
  hashSize: { expected: 'anything', isValid: () => true },
  scrypt: OPTION.object,
}

/** Authenticates by user name and password: `{ strategy: 'local', email, password }`. */
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

  /** @throws {TypeError} an option is unknown, or a required one is missing */
  verifyConfiguration(): void {
    const { configKey, configuration } = this.authentication
    const section = getSection(configuration, this.name)
    for (const required of ['usernameField', 'passwordField']) {
      if (isNonEmptyString(section[required])) continue
      throw new SettingError(
        `'${this.name}' authentication strategy requires a '${required}' setting`,
      )
    }
    const rules = section['hash'] === 'bcrypt' ? { ...RULES, ...HASH_RULES } : RULES
    checkOptions(`the setting '${configKey}.${this.name}'`, section, rules)
    this.#getPasswords()
  }

  /**
   * Returns `{ authentication: { strategy }, user }`. Every failure has the same message and takes the work of one
   * password check, so neither reveals whether the user exists. The service and the hooks limit guesses.
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

  /** @throws {TooManyRequests} too many logins for this account or address have failed */
  limitGuesses<T>(
    request: AuthenticationRequest,
    params: AuthenticationParams,
    prove: (added?: AuthenticationParams) => Promise<T>,
  ): Promise<T> {
    const { signal } = params
    // The signal is a getter on the class of a transport's params, so a copy would lack it.
    const own = signal === undefined ? {} : { signal }
    const account = this.#readCredentials(request)?.username ?? null
    return limitLogins(this.authentication, account, params, (added) => prove({ ...own, ...added }))
  }

  async #prove(request: AuthenticationRequest, params: AuthenticationParams): Promise<Entity> {
    const credentials = this.#readCredentials(request)
    if (credentials === null) return this.#refuse('', 'no user name and password', params)
    const { username, password } = credentials
    checkPassword(password)
    const found = await this.findEntity(username, params)
    // A collation may find a user by many names. If there is no user, the name is counted instead, which takes as long.
    const id = found?.[getEntityIdName(this)] ?? null
    const user = id === null ? `name ${username}` : `id ${id}`
    const { service } = this.configuration
    const isWithinLimit = (await params.attempt?.countUser(`${service} ${user}`)) ?? true
    if (found === null) return this.#refuse(password, 'unknown user', params)
    if (!isWithinLimit) {
      // The same response as for a wrong password: otherwise the limit would reveal that the user exists.
      return this.#refuse(password, 'too many failed logins of this user', params)
    }
    params.proven?.push(found)
    await this.comparePassword(found, password, params)
    return found
  }

  /** Returns the query that finds an entity. Override it to exclude some: `{ active: true }`. */
  async getEntityQuery(
    query: Record<string, unknown>,
    _params: AuthenticationParams,
  ): Promise<Record<string, unknown>> {
    return { $limit: 1, ...query }
  }

  /** Returns the stored entity with a user name; `null` if there is none. */
  async findEntity(username: string, params: AuthenticationParams): Promise<Entity | null> {
    const service = this.entityService
    if (service === null) throw new LoginMisconfigured('Could not find entity service')
    const { entityUsernameField } = this.configuration
    const query = await this.getEntityQuery({ [entityUsernameField]: username }, params)
    return getFirstEntity(await service.find(createEntityParams(params, query)))
  }

  /**
   * Returns the entity if the password is correct, and stores a new hash if the old one is outdated.
   * @param params of the call: its address takes turns, and its `signal` ends the wait
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
   * Checks a password against a stored hash, like {@link Passwords.verify}.
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
   * Checks a new password before anything is hashed.
   * @throws {BadRequest} it is empty, not a string, or longer than 1,024 bytes, or than 72 with bcrypt
   */
  checkPassword(password: unknown): void {
    const passwords: Passwords = this.#getPasswords()
    passwords.check(password)
  }

  /**
   * Returns the hash of a password, like {@link Passwords.hash}.
   * @param params as for {@link comparePassword}; without `provider` and `address` it waits however many are waiting
   * @param replaced the outdated hash of the same password: sessions that know it continue with the new one
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
   * Returns the entity for the result; for external calls, as external callers may see it.
   * @throws {NotAuthenticated} the entity has no id
   */
  async getEntity(entity: Entity, params: AuthenticationParams): Promise<unknown> {
    const service = this.entityService
    if (service === null || this.configuration.entity === null) return entity
    const id = entity[getEntityIdName(this)]
    return readResultEntity(this, entity, id, params, 'Could not get local entity')
  }

  /** Returns two non-empty strings, or `null`: an object would become an operator in the query. */
  #readCredentials(
    request: AuthenticationRequest,
  ): { readonly username: string; readonly password: string } | null {
    const { usernameField, passwordField } = this.configuration
    const username = getField(request, usernameField)
    const password = getField(request, passwordField)
    return isNonEmptyString(username) && isNonEmptyString(password) ? { username, password } : null
  }

  /** Rejects after as much work as checking a password takes. */
  async #refuse(password: string, reason: string, params: AuthenticationParams): Promise<never> {
    await this.verifyPassword(password, undefined, params)
    throw createRefusal(this.configuration.errorMessage, reason)
  }

  /**
   * Stores a new hash of the same password. The hooks of the service do not run: they would hash the hash, and emit an
   * event though the user changed nothing. A password that was changed in the meantime is kept, as the query includes
   * the outdated hash. A failure is only logged: the login itself succeeded.
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
      // Hashing comes first, since it is slow and the record may change meanwhile.
      const hash = await this.hashPassword(password, params, String(outdated))
      // Reads the outermost field again as it is stored: hooks may have changed it in the entity.
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

/** Callers from one network share a turn. */
function createTurn({ address, signal }: AuthenticationParams = {}): Turn {
  return { caller: address === undefined ? undefined : getNetwork(address), signal }
}

/** Returns a change of the outermost field of a dotted path, with only the value at the path replaced. */
function createChange(record: Entity, path: string, value: unknown): Entity {
  const [key = '', ...rest] = path.split('.')
  if (rest.length === 0) return { [key]: value }
  const inner = isPlainObject(record[key]) ? record[key] : {}
  return { [key]: { ...inner, ...createChange(inner, rest.join('.'), value) } }
}
