import { LoginRequired, WrongPassword } from '../../core/errors/coded-errors.ts'
import type { Params } from '../../core/index.ts'
import { NotAuthenticated } from '../../core/index.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { withoutProvider } from '../authentication-params.ts'
import type { Entity } from '../entity-service.ts'
import { getField } from '../entity-service.ts'
import { proveParams } from '../hooks/authenticate.ts'
import { reportFailure } from '../hooks/login-events.ts'
import { limitLogins } from '../proof.ts'
import type { LoginAttempt, LoginThrottle } from '../throttle/login-throttle.ts'
import type { AccountSetting } from './account-options.ts'
import type { TokenPurpose } from './account-token.ts'

/**
 * Resolves to the id of the caller and to the params with the proof of the caller, after checking the password as in a
 * login.
 * @throws {NotAuthenticated} the caller is not logged in
 * @throws {BadRequest} the password is wrong. Not 401, on which clients would end their login
 */
export async function proveCaller(
  setting: AccountSetting,
  password: string,
  params: AuthenticationParams,
): Promise<{ readonly id: string; readonly params: Params }> {
  const { authentication, entity, idName, nameField, strategy, users } = setting
  const holder = { params }
  await proveParams(authentication, holder, authentication.configuration.authStrategies)
  const { [entity]: found } = holder.params as Record<string, unknown>
  const id = getField(found, idName) as string | undefined
  if (id == null) throw new LoginRequired('Not authenticated')
  const internal = { ...withoutProvider(holder.params), query: {} }
  const user = (await users.get(id, internal)) as Entity
  const name = String(getField(user, nameField))
  try {
    await limitCaller(setting, name, params, () => strategy.comparePassword(user, password, params))
  } catch (error) {
    if (!(error instanceof NotAuthenticated)) throw error
    const data = { strategy: strategy.name, [strategy.configuration.usernameField]: name }
    reportFailure(authentication, 'login', { data, params } as never, error)
    throw new WrongPassword('The password is wrong')
  }
  return { id, params: holder.params }
}

/** Checks a proof of a caller within the limits on failed logins. */
export function limitCaller<T>(
  setting: AccountSetting,
  name: string | null,
  params: AuthenticationParams,
  prove: () => Promise<T>,
): Promise<T> {
  if (findThrottle(setting, params) === null) return prove()
  return limitLogins(setting.authentication, name, params, prove)
}

/** Returns the limits on failed logins for external callers; `null` if there are none. */
export function findThrottle(
  { authentication }: AccountSetting,
  params: Params,
): LoginThrottle | null {
  const { app, loginThrottle, configKey } = authentication
  if (!params.provider || loginThrottle === null) return null
  loginThrottle.warnOfProxy(params, app.logger, `${configKey}.loginThrottle`)
  return loginThrottle
}

/** Counts each external request like a failed login: without a limit, a caller could flood a mailbox. */
export async function countRequest(
  setting: AccountSetting,
  purpose: TokenPurpose,
  email: string,
  params: Params,
): Promise<LoginAttempt | undefined> {
  return findThrottle(setting, params)?.begin(`${purpose} ${email.trim()}`, params.address)
}
