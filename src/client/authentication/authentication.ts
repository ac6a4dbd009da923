import type { AnyApplication } from '../../core/app.ts'
import { ArgumentError, OrderError } from '../../core/errors/setup-errors.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { Given, OptionRule } from '../../core/options/option-rules.ts'
import { checkRules } from '../../core/options/option-rules.ts'
import type { ClientParams } from '../remote-services.ts'
import { AuthenticationClient } from './authentication-client.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import { CLIENT_RULES } from './client-options.ts'
import type { LoginData, LoginResult, LoginUser } from './login-result.ts'

/** A class of authentication clients: one that extends {@link AuthenticationClient}. */
export type AuthenticationClientClass = new (
  app: AnyApplication,
  options: Given<AuthenticationClientOptions>,
) => AuthenticationClient

/** Options of {@link authentication}. */
export interface AuthenticationOptions extends Given<AuthenticationClientOptions> {
  /** The class that logs in and out. Default: {@link AuthenticationClient}. */
  readonly Authentication?: AuthenticationClientClass | undefined
}

/**
 * Returns a function for `client.configure(authentication())` that adds logins to a client: the methods `authenticate`,
 * `reAuthenticate` and `logout`, the events `login`, `authenticated`, `logout` and `expired`, and the token of the
 * login on its calls.
 * @throws {TypeError} an option is unknown or invalid, or the client already has logins
 */
export function authentication(options: AuthenticationOptions = {}): (app: object) => void {
  const configure = createConfigurator<AnyApplication>('authentication', options, (app) => {
    if ('authentication' in app) throw new OrderError('The client has been given logins already')
    if (app.get('authentication') !== undefined) {
      throw new ArgumentError(
        "The application has a setting 'authentication' that is not a client's",
      )
    }
    const client = new Authentication(app, clientOptions)
    const reAuthenticate: AuthenticationClient['reAuthenticate'] = (force, strategy, params) => {
      // Checked here too, since a custom class may not: a listener of `login` would log in again and again.
      const present: Promise<LoginResult> | null = force === true ? null : app.get('authentication')
      return present ?? client.reAuthenticate(force, strategy, params)
    }
    const authenticate: AuthenticationClient['authenticate'] = (data, params) =>
      data ? client.authenticate(data, params) : reAuthenticate()
    Object.assign(app, {
      authentication: client,
      authenticate,
      reAuthenticate,
      logout: client.logout.bind(client),
    })
  })
  const rule: OptionRule = {
    expected: 'a class that extends AuthenticationClient',
    isValid: (value) =>
      value === AuthenticationClient ||
      (typeof value === 'function' && value.prototype instanceof AuthenticationClient),
  }
  checkRules('authentication()', options, { ...CLIENT_RULES, Authentication: rule })
  const { Authentication = AuthenticationClient, ...clientOptions } = options
  return configure as (app: object) => void
}

/** The members that `client.configure(authentication())` adds to a client for a server with these services. */
export interface LoginMembers<Services = unknown> extends LoginMethods<Services> {
  /** The object that logs in and out; the other methods delegate to it. */
  readonly authentication: AuthenticationClient
}

interface LoginMethods<Services> {
  /** Logs in: `authenticate({ strategy: 'local', email, password })`. Without data it calls {@link reAuthenticate}. */
  authenticate(data?: LoginData, params?: ClientParams): Promise<LoginResult<LoginUser<Services>>>
  /** Resolves to the current login; without one, or with `force`, logs in with the stored token. */
  reAuthenticate(
    force?: boolean,
    strategy?: string,
    params?: ClientParams,
  ): Promise<LoginResult<LoginUser<Services>>>
  /** Logs out. Resolves to `null` if there was no login. */
  logout(): Promise<LoginResult<LoginUser<Services>> | null>
}

/** Methods that throw an error naming what is missing, for a client without logins. */
export const MISSING_LOGIN: LoginMethods<unknown> = Object.fromEntries(
  ['authenticate', 'reAuthenticate', 'logout'].map((name) => {
    const message = `client.${name}() needs client.configure(authentication()) before`
    return [name, async () => Promise.reject(new ArgumentError(message))]
  }),
) as Record<keyof LoginMethods<unknown>, () => Promise<never>>
