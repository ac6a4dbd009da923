import { GeneralError } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LocationWithHash } from './location-token.ts'
import { createLocationError, takeFromHash } from './location-token.ts'
import type { LoginService } from './login-result.ts'
import { isRefusal } from './login-state.ts'

/**
 * Resolves to the access token for the code that a login elsewhere has left in a hash, with the name
 * of its strategy; `null` where they are not there. Both are taken out of the hash: a code serves once.
 * @throws {NotAuthenticated} the server refuses the code, with the name `OauthError`
 * @throws {Unavailable} the server does not answer
 * @throws {Timeout} it does not in time
 * @throws {GeneralError} the server answers without a token
 */
export async function exchangeCode(
  location: LocationWithHash,
  service: Pick<LoginService, 'create'>,
): Promise<string | null> {
  const [code, strategy] = takeFromHash(location, 'code', 'strategy')
  if (!code || !strategy) return null
  try {
    const { accessToken } = await service.create({ strategy, code })
    if (isNonEmptyString(accessToken)) return accessToken
  } catch (error) {
    throw isRefusal(error) ? createLocationError((error as Error).message) : error
  }
  throw new GeneralError('The server has answered a login without an access token')
}
