import { OAuthFlowEnded } from '../../core/errors/coded-errors.ts'
import { deriveKey } from '../../core/secrets/secret.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import { findCookies, toSetCookie } from '../cookies.ts'
import { openData, sealData } from '../tokens/sealed-data.ts'

/** A login that was started at a provider and has not come back yet. */
export interface Flow {
  readonly provider: string
  /** The random string that the provider must send back. */
  readonly state: string
  /** The random string that the id token must contain, `null` if the provider sends none. */
  readonly nonce: string | null
  /** The PKCE verifier. The provider knows only its hash. */
  readonly verifier: string
  /** Where the provider redirects the browser to. */
  readonly redirectUri: string
  /** The name of the override of the settings, `null` for none. */
  readonly override: string | null
  /** What is appended to the address of the page after the login. */
  readonly redirect: string | null
  /** The origin of the page that the login started on, `null` if the browser did not send it. */
  readonly referer: string | null
  /** The access token of the account to link, `null` for a plain login. */
  readonly accessToken: string | null
  /** Other query parameters of the start, which become `params.query` of the login. */
  readonly query: Readonly<Record<string, unknown>>
}

/** How long a person may take at the provider. */
export const FLOW_LIFETIME_SECONDS = 600

/** The message for a callback that does not belong to a flow started here. */
export const NO_FLOW =
  'No valid oAuth response. You must initiate the oAuth flow from the authorize endpoint.'

/**
 * Returns the header that stores a flow, encrypted, in the browser that started it, for the callback path only; `null`
 * if it is too long for a cookie.
 * @param isCrossSite whether the provider responds with a form post, for which browsers send only cookies with
 *   `SameSite=None`
 */
export function storeFlow(
  flow: Flow,
  secrets: readonly string[],
  isCrossSite: boolean,
): string | null {
  const sealed = sealData(
    'oauth-flow',
    { ...flow },
    deriveKey('oauth-flow', secrets[0] ?? ''),
    FLOW_LIFETIME_SECONDS,
  )
  // Browsers require Secure with `SameSite=None`, and accept it on localhost without TLS.
  const isSecure = isCrossSite || isEncrypted(flow)
  const sameSite = isCrossSite ? 'None' : 'Lax'
  return toSetCookie({
    ...{ name: getCookieName(flow), value: sealed, maxAge: FLOW_LIFETIME_SECONDS },
    ...{ path: getCookiePath(flow), isSecure, sameSite },
  })
}

/** Returns the header that removes a flow from the browser. */
export function removeFlow(flow: Flow): string {
  const isSecure = isEncrypted(flow)
  const nothing = { name: getCookieName(flow), value: '', maxAge: 0 }
  return toSetCookie({ ...nothing, path: getCookiePath(flow), isSecure, sameSite: 'Lax' }) as string
}

/**
 * Returns the flow with a provider that a request carries.
 * @param header the header `cookie`
 * @throws {NotAuthenticated} there is no flow, more than one, or it has expired
 */
export function readFlow(provider: string, header: unknown, secrets: readonly string[]): Flow {
  const names = [SECURE, ''].map((prefix) => `${prefix}${NAME}${provider}`)
  const found = findCookies(header, names)
  const [[name, sealed] = []] = found
  if (!isNonEmptyString(sealed))
    throw createRefusal(NO_FLOW, 'no flow was begun in this browser', OAuthFlowEnded)
  if (found.length > 1) throw createRefusal(NO_FLOW, 'two flows at once', OAuthFlowEnded)
  const flow = openData('oauth-flow', sealed, secrets, NO_FLOW) as unknown as Flow
  if (flow.provider !== provider)
    throw createRefusal(NO_FLOW, 'the flow was begun with another provider', OAuthFlowEnded)
  // A server without TLS can set a cookie, but none with the prefix.
  if (name !== getCookieName(flow))
    throw createRefusal(NO_FLOW, 'the cookie has another name than it was given', OAuthFlowEnded)
  return flow
}

const NAME = 'remex-oauth-'

/** Browsers accept a cookie with this prefix over TLS only. */
const SECURE = '__Secure-'

function getCookieName(flow: Flow): string {
  return `${isEncrypted(flow) ? SECURE : ''}${NAME}${flow.provider}`
}

function getCookiePath({ redirectUri }: Flow): string {
  return new URL(redirectUri).pathname
}

function isEncrypted({ redirectUri }: Flow): boolean {
  return redirectUri.startsWith('https:')
}
