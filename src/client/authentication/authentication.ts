import type { AnyApplication } from '../../core/app.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { Given, OptionRule } from '../../core/options/option-rules.ts'
import { checkRules } from '../../core/options/option-rules.ts'
import { AuthenticationClient } from './authentication-client.ts'
import type { AuthenticationClientOptions } from './authentication-options.ts'
import { CLIENT_RULES } from './authentication-options.ts'
import type { LoginResult } from './login-result.ts'

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
 * Returns what gives a client logins: `client.configure(authentication())`. From then on it has
 * `authenticate`, `reAuthenticate` and `logout`, the events `login`, `authenticated` and `logout`, and
 * its calls have the token of the login.
 * @throws {TypeError} an option is unknown or invalid, or the client has logins already
 */
export function authentication(options: AuthenticationOptions = {}): (app: object) => void {
  const configure = createConfigurator<AnyApplication>('authentication', options, (app) => {
    if ('authentication' in app) throw new TypeError('The client has been given logins already')
    if (app.get('authentication') !== undefined) {
      throw new TypeError("The application has a setting 'authentication' that is not a client's")
    }
    const client = new Authentication(app, clientOptions)
    const reAuthenticate: AuthenticationClient['reAuthenticate'] = (force, strategy, params) => {
      // Asked here as well, since a class of one's own need not do so: a listener to `login` would
      // log in again and again.
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
  checkRules('authentication()', options, { ...CLIENT_RULES, Authentication: CLASS })
  const { Authentication = AuthenticationClient, ...clientOptions } = options
  return configure as (app: object) => void
}

const CLASS: OptionRule = {
  expected: 'a class that extends AuthenticationClient',
  isValid: (value) =>
    value === AuthenticationClient ||
    (typeof value === 'function' && value.prototype instanceof AuthenticationClient),
}
