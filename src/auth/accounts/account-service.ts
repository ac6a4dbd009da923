import { InvalidAccountToken } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import type { AnyApplication, Application, Params } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { withoutProvider } from '../authentication-params.ts'
import { seekAuthentication } from '../default-authentication.ts'
import type { Entity } from '../entity-service.ts'
import { getField } from '../entity-service.ts'
import type { MethodDescription } from '../method-description.ts'
import { setDescriber } from '../method-description.ts'
import { countRequest, findThrottle, limitCaller, proveCaller } from './account-callers.ts'
import { checkAddress, readAccountData, toAccountSchemas } from './account-data.ts'
import { AccountEmails } from './account-emails.ts'
import type {
  AccountLink,
  AccountOptions,
  AccountSetting,
  ResolvedAccountOptions,
} from './account-options.ts'
import { findAccountSetting, findByEmail, resolveAccountOptions } from './account-options.ts'
import type { AccountToken, StoredToken, TokenPurpose } from './account-token.ts'
import {
  AccountTokens,
  createAccountToken,
  markPassword,
  readAccountToken,
} from './account-token.ts'

/** The methods that change the account of the caller. */
const CALLER_METHODS: readonly string[] = ['changePassword', 'changeEmail']

const INVALID = 'The token is not valid any more: ask for a new one'

/**
 * A service of custom methods for the life of accounts: it verifies and changes addresses, and resets and changes
 * passwords. It changes users with `patch` of their service, whose hooks hash passwords. Tokens are sent by email,
 * stored as hashes, and single-use. No response reveals whether an account exists. Every method resolves to `{}`.
 */
export class AccountService {
  readonly #app: Application
  readonly #options: ResolvedAccountOptions
  readonly #tokens: AccountTokens
  readonly #emails: AccountEmails

  /** @throws {TypeError} an option is unknown, invalid or missing */
  constructor(app: AnyApplication, options: AccountOptions) {
    this.#app = app
    this.#options = resolveAccountOptions(options)
    this.#tokens = new AccountTokens(options.tokens)
    this.#emails = new AccountEmails(app, this.#options)
    app.observe((change, _path, entry) => {
      if (change === 'added' && entry.service === (this as object)) {
        setDescriber(entry, (method) => this.#describe(method))
      }
    })
  }

  /** @throws {TypeError} there is no authentication service with users and a local strategy */
  async setup(): Promise<void> {
    findAccountSetting(this.#app, this.#options)
    await this.#tokens.createIndex()
  }

  /** Waits for emails being sent, for five seconds at most. */
  async teardown(): Promise<void> {
    await this.#emails.settle()
  }

  /**
   * Sends an email to verify the address of an account, unless there is none or it is already verified.
   * @throws {BadRequest} the data is invalid
   * @throws {TooManyRequests} too many requests for this account, or from the address of the caller
   */
  async requestVerification(
    data: { readonly email: string },
    params: Params = {},
  ): Promise<object> {
    const { email } = readAccountData(data, params, 'requestVerification')
    return this.#request('verify', email, params)
  }

  /**
   * Verifies the address that the token was sent to. A token for a change of address replaces the old address.
   * @throws {BadRequest} the data or the token is invalid
   * @throws {TooManyRequests} too many wrong tokens from the address of the caller
   */
  async verifyEmail(data: { readonly token: string }, params: Params = {}): Promise<object> {
    const { token } = readAccountData(data, params, 'verifyEmail')
    const { emailField } = this.#setting
    const { verifiedField } = this.#options
    const { stored, user } = await this.#use(token, ['verify', 'change'], params, (found) => ({
      [verifiedField]: true,
      ...(found.newEmail !== null && { [emailField]: found.newEmail }),
    }))
    if (stored.newEmail !== null) this.#tell('emailChanged', stored.email, user)
    return {}
  }

  /**
   * Sends an email to reset the password of an account, unless there is none.
   * @throws {BadRequest} the data is invalid
   * @throws {TooManyRequests} too many requests for this account, or from the address of the caller
   */
  async requestReset(data: { readonly email: string }, params: Params = {}): Promise<object> {
    const { email } = readAccountData(data, params, 'requestReset')
    return this.#request('reset', email, params)
  }

  /**
   * Sets a new password. The email address counts as verified, since the email sent to it was read.
   * @throws {BadRequest} the data or the token is invalid
   * @throws {TooManyRequests} too many wrong tokens from the address of the caller
   */
  async resetPassword(
    data: { readonly token: string; readonly password: string },
    params: Params = {},
  ): Promise<object> {
    const { token, password } = readAccountData(data, params, 'resetPassword')
    const { strategy, passwordField } = this.#setting
    const { verifiedField } = this.#options
    strategy.checkPassword(password)
    const changes = { [passwordField]: password, [verifiedField]: true }
    const { stored, user } = await this.#use(token, ['reset'], params, () => changes)
    this.#tell('passwordChanged', stored.email, user)
    return {}
  }

  /**
   * Sets a new password for the caller.
   * @param data the current `password`, and the new one
   * @throws {BadRequest} the data or the password is invalid
   * @throws {NotAuthenticated} the caller is not logged in
   * @throws {TooManyRequests} too many wrong passwords
   */
  async changePassword(
    data: { readonly password: string; readonly newPassword: string },
    params: Params = {},
  ): Promise<object> {
    const { password, newPassword } = readAccountData(data, params, 'changePassword')
    const { strategy, passwordField, emailField } = this.#setting
    strategy.checkPassword(newPassword)
    const caller = await proveCaller(this.#setting, password, params)
    // Keeps the proof of the caller in the params, so that the session that changes the password continues.
    const internal = withoutProvider(caller.params)
    const user = await this.#patch(caller.id, { [passwordField]: newPassword }, {}, internal)
    this.#log('Password changed', caller.id, params)
    this.#tell('passwordChanged', getField(user, emailField), user)
    return {}
  }

  /**
   * Sends an email to the new address of the caller, which replaces the old one once it is verified. No email is sent
   * if another account has the address.
   * @param data the current `password`, and the new address
   * @throws {BadRequest} the data or the password is invalid
   * @throws {NotAuthenticated} the caller is not logged in
   * @throws {TooManyRequests} too many wrong passwords, or requests for this address or by this caller
   */
  async changeEmail(
    data: { readonly password: string; readonly email: string },
    params: Params = {},
  ): Promise<object> {
    const { password, email } = readAccountData(data, params, 'changeEmail')
    checkAddress(email)
    const { id } = await proveCaller(this.#setting, password, params)
    await countRequest(this.#setting, 'change', email, params)
    // Without this limit, one caller could send emails to many addresses, even from many networks.
    const throttle = findThrottle(this.#setting, params)
    await throttle?.begin(`change by ${this.#setting.path} ${id}`, undefined)
    this.#emails.start('change', async () => {
      const setting = this.#setting
      if ((await findByEmail(setting, email)) !== null) return null
      // Read again: the check of the password may have replaced its hash.
      const user = (await setting.users.get(id, { query: {} })) as Entity
      return this.#createLink('change', user, email)
    })
    return {}
  }

  #describe(method: string): MethodDescription | undefined {
    const schemas = toAccountSchemas(method)
    if (schemas === undefined || !CALLER_METHODS.includes(method)) return schemas && { schemas }
    const authentication = seekAuthentication(this.#app, this.#options.authentication)
    const strategies = authentication?.configuration.authStrategies ?? []
    return { schemas, proof: { strategies, authentication } }
  }

  /** Responds before anything is looked up, so that it takes as long if there is no account. */
  async #request(purpose: 'verify' | 'reset', email: string, params: Params): Promise<object> {
    const attempt = await countRequest(this.#setting, purpose, email, params)
    this.#emails.start(purpose, async () => {
      const { emailField, entity, idName } = this.#setting
      const user = await findByEmail(this.#setting, email)
      const isVerified = getField(user, this.#options.verifiedField) === true
      if (user === null || (purpose === 'verify' && isVerified)) return null
      // Counted by the stored address, because a collation may find a user by many spellings of it.
      const isWithinLimit = await attempt?.countUser(`${purpose} ${getField(user, emailField)}`)
      if (isWithinLimit !== false) return this.#createLink(purpose, user, null)
      const line = { event: 'account', kind: purpose, [entity]: String(user[idName]) }
      this.#app.logger.warn(line, 'Too many requests for the address of a user: no email is sent')
      return null
    })
    return {}
  }

  get #setting(): AccountSetting {
    return findAccountSetting(this.#app, this.#options)
  }

  async #createLink(
    purpose: TokenPurpose,
    user: Entity,
    newEmail: string | null,
  ): Promise<AccountLink | null> {
    const { path, idName, emailField, passwordField } = this.#setting
    // Uses the stored address, since a collation may find a user by another spelling.
    const email = getField(user, emailField)
    if (typeof email !== 'string') return null
    const token = createAccountToken(purpose, String(user[idName]))
    await this.#tokens.add(token, path, {
      email,
      newEmail,
      // A changed password invalidates the other tokens, but says nothing about who reads the email of an address.
      passwordMark: purpose === 'verify' ? null : markPassword(getField(user, passwordField)),
      expiresAt: new Date(Date.now() + this.#options.lifetimeMs),
    })
    return { kind: purpose, email: newEmail ?? email, user, token: token.text }
  }

  /** Uses a token and changes its user. Wrong tokens count as failed logins from the address of the caller. */
  async #use(
    text: string,
    purposes: readonly TokenPurpose[],
    params: AuthenticationParams,
    toChanges: (stored: StoredToken) => Entity,
  ): Promise<{ readonly stored: StoredToken; readonly user: Entity }> {
    const { path } = this.#setting
    return limitCaller(this.#setting, null, params, async () => {
      const token = readAccountToken(text)
      if (token === null || !purposes.includes(token.purpose))
        throw new InvalidAccountToken(INVALID)
      const stored = await this.#tokens.take(token, path)
      if (stored === null) throw new InvalidAccountToken(INVALID)
      try {
        const user = await this.#change(token, stored, toChanges(stored), params)
        return { stored, user }
      } catch (error) {
        // A token stays valid if its change fails, for example because hooks reject the password.
        await this.#tokens
          .putBack(stored)
          .catch((err: unknown) =>
            this.#app.logger.error({ err }, 'A token could not be given back'),
          )
        throw error
      }
    })
  }

  /** Changes the user of a token, unless the address or the password has changed since the token was sent. */
  async #change(
    { purpose, userId }: AccountToken,
    { email, passwordMark }: StoredToken,
    changes: Entity,
    params: AuthenticationParams,
  ): Promise<Entity> {
    const { users, emailField, passwordField } = this.#setting
    // Drops the proof of a logged-in caller, whose session would otherwise continue: all sessions of the user must end.
    const { authentication: _authentication, ...internal } = withoutProvider(params)
    try {
      const before = await users.get(userId, { ...internal, query: {} })
      const password = getField(before, passwordField) ?? null
      const isSame = passwordMark === null || passwordMark === markPassword(password)
      if (!isSame) throw new InvalidAccountToken(INVALID)
      const conditions = { [emailField]: email, ...(passwordMark && { [passwordField]: password }) }
      const user = await this.#patch(userId, changes, conditions, internal)
      this.#log(MESSAGES[purpose], userId, params)
      return user
    } catch (error) {
      const isGone = error instanceof ServiceError && error.code === 404
      throw isGone ? new InvalidAccountToken(INVALID, undefined, { cause: error }) : error
    }
  }

  /** @throws {TypeError} the hooks of the service have stored the password unhashed */
  async #patch(
    id: unknown,
    changes: Entity,
    query: Entity,
    params: AuthenticationParams,
  ): Promise<Entity> {
    const { path, users, passwordField } = this.#setting
    const user = await users.patch(id, changes, { ...params, query })
    const password = changes[passwordField]
    if (password !== undefined && getField(user, passwordField) === password) {
      throw new HookError(
        `The '${path}' service stores passwords as they are: give its 'patch' hashPassword('${passwordField}')`,
      )
    }
    return user as Entity
  }

  #tell(kind: 'passwordChanged' | 'emailChanged', email: unknown, user: Entity): void {
    if (typeof email === 'string') this.#emails.start(kind, async () => ({ kind, email, user }))
  }

  #log(message: string, id: unknown, { address }: Params): void {
    const { entity } = this.#setting
    this.#app.logger.info({ event: 'account', address, [entity]: String(id) }, message)
  }
}

/** The log message for a used token. */
const MESSAGES: Readonly<Record<TokenPurpose, string>> = {
  verify: 'Address verified',
  reset: 'Password reset',
  change: 'Address changed',
}
