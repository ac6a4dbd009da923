import { GeneralError } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LocationWithHash } from './location-token.ts'
import { createLocationError, takeFromHash } from './location-token.ts'
import type { LoginData, LoginResult } from './login-result.ts'
import { isRefusal } from './login-state.ts'

/** The part of an authentication service that exchanges codes. */
interface LoginService {
  create(data: LoginData): Promise<LoginResult>
}

/**
 * Resolves to the access token for the code that a login elsewhere has left in a hash, with the name
 * of its strategy; `null` where they are not there. Both are taken out of the hash: a code serves once.
 * @throws {NotAuthenticated} the server refuses the code, with the name `OauthError`
 */
export async function exchangeCode(
  location: LocationWithHash,
  service: LoginService,
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
