import type { AnyApplication } from '../../core/app.ts'
import type { ServiceError } from '../../core/errors/index.ts'
import { toMethodSpec } from '../../core/method-table.ts'
import { isObject } from '../../core/value-kind.ts'
import { createResponseError } from '../answers/response-error.ts'
import type { Answer } from '../connection.ts'
import type { Authorizer, UnsentCall } from '../remote-service.ts'
import { RemoteService, setAuthorizer } from '../remote-service.ts'
import type { Login } from './login-state.ts'
import { isRefusal, toClaims } from './login-state.ts'
import type { RefusalReason, RenewedLogin } from './token-renewal.ts'
import { TokenRenewal } from './token-renewal.ts'

/** What authorizing calls needs of an authentication client. */
export interface CallLogin extends RenewedLogin {
  /** The header that tokens are sent in, in lower case. */
  readonly headerName: string
  /** The authentication service, which says which server the token is for. */
  findService(): unknown
  /** Returns the token of the login that a logout in flight ends, `undefined` for none. */
  findEndingToken(): string | undefined
  /** Returns the header with a token. */
  toHeader(accessToken: string): Readonly<Record<string, string>>
}

/** What servers say of a token that they do not accept. */
const TOKEN_ERRORS: ReadonlySet<unknown> = new Set(['TokenExpiredError', 'JsonWebTokenError'])

/**
 * Returns what sends calls with the token of the login, to the server of the authentication service
 * alone. Where the token is refused, one new login serves all calls that were refused, and each of
 * them is sent a second time if the server can not have acted on it.
 */
export function createCallAuthorizer(login: CallLogin): Authorizer {
  const { state } = login
  const renewal = new TokenRenewal(login)

  async function sendAgain(call: UnsentCall, refused: Login, answer: Answer): Promise<Answer> {
    const error = createResponseError(answer)
    if (!isTokenError(error)) throw error
    const reason = findReason(error, refused)
    const renewed = await renewal.replace(refused, reason).catch((failure: unknown) => {
      throw isRefusal(failure) ? error : failure
    })
    if (renewed === undefined || renewed.accessToken === refused.accessToken) throw error
    if (!canSendAgain(call, reason)) throw error
    call.signal?.throwIfAborted()
    return call.send(login.toHeader(renewed.accessToken))
  }

  return async (call) => {
    const service = login.findService()
    const isGiven = Object.hasOwn(call.headers, login.headerName)
    if (isGiven || !isSameServer(call.service, service)) return call.send({})
    const ownMethod = call.service.name === service.name ? call.method : undefined
    // A login proves who calls by what it sends; a logout ends the login that it finds.
    if (ownMethod === 'create') return call.send({})
    const ending = login.findEndingToken()
    if (ownMethod === 'remove' && ending !== undefined) return call.send(login.toHeader(ending))
    const current = await state.settle()
    // A call that was given up while the login went on is not sent any more.
    call.signal?.throwIfAborted()
    if (current === undefined) return call.send({})
    const answer = await call.send(login.toHeader(current.accessToken))
    if (answer.status !== 401 || ownMethod !== undefined) return answer
    return sendAgain(call, current, answer)
  }
}

/**
 * Has an authorizer send the calls of an application's services, those too that are added later.
 * Services of applications inside it have logins of their own.
 */
export function authorizeServices(app: AnyApplication, authorizer: Authorizer): void {
  const authorize = (service: object, owner: unknown): void => {
    if (owner === app) setAuthorizer(service, authorizer)
  }
  for (const entry of app.entries.values()) authorize(entry.service, entry.app)
  app.observe((change, _path, entry) => {
    if (change === 'added') authorize(entry.service, entry.app)
    else if (entry.app === app) setAuthorizer(entry.service, undefined)
  })
}

/**
 * Base URLs are compared as a whole: another path at the same host may belong to another operator.
 */
function isSameServer(
  service: UnsentCall['service'],
  authentication: unknown,
): authentication is RemoteService {
  return authentication instanceof RemoteService && service.base === authentication.base
}

function isTokenError({ data }: ServiceError): boolean {
  return isObject(data) && TOKEN_ERRORS.has(data['name'])
}

/** A token has expired for certain only if the error names the expiry of that very token. */
function findReason({ data }: ServiceError, refused: Login): RefusalReason {
  const { exp } = toClaims(refused)
  const { expiredAt } = data as { expiredAt?: unknown }
  const isExpiry = exp !== undefined && Date.parse(String(expiredAt)) === exp * 1000
  return isExpiry ? 'expired' : 'other'
}

/**
 * Writes are sent again only if their own token had expired: any other error may be that of a further
 * server, which was asked after something was written.
 */
function canSendAgain({ method }: UnsentCall, reason: RefusalReason): boolean {
  return reason === 'expired' || toMethodSpec(method).verb === 'GET'
}
