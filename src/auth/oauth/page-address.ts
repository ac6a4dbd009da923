import { OAuthRejected } from '../../core/errors/coded-errors.ts'
import { createRefusal } from '../auth-errors.ts'
import type { AuthenticationResult } from '../authentication.ts'
import { isOrigin, parseUrl } from '../settings-values.ts'

/** Placeholder for the origin of this server if a page is given as a path. */
const OWN_ORIGIN = 'https://own.invalid'

/**
 * Returns, for the log, what is wrong with a path that a caller appends to an address of the settings; `undefined` if
 * it is allowed.
 */
function findProblem(base: string, path: string, address: string): string | undefined {
  const root = new URL(getAbsoluteAddress(base))
  const target = parseUrl(getAbsoluteAddress(address))
  const resolved = URL.canParse(path, root.href) ? new URL(path, root) : null
  const problems: Readonly<Record<string, boolean>> = {
    'half of a character': !path.isWellFormed(),
    // Browsers drop some of these characters and join what was around them.
    'a space or a control character': /[\s\p{Cc}]/u.test(path),
    'an encoded control character': /%(?:[01][\da-f]|7f)/i.test(path),
    // Browsers read a backslash as a slash.
    'a backslash': /\\|%5c/i.test(path),
    'a scheme': /^[a-z][a-z\d+.-]*:/i.test(path),
    'a segment that leads upwards': /(?:^|[/?#])(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(path),
    'a part of the host': HOST_ONLY.test(base) && !/^[/?#]/.test(path),
    'a query for the outcome': path.endsWith('?') && !address.includes('#'),
    'another host':
      [target, resolved].some((url) => url?.origin !== root.origin) || address.startsWith('//'),
    'another folder': target?.pathname.startsWith(root.pathname) !== true,
    'the outcome of a login': OUTCOME.test(decodeOften(getFragment(address))),
  }
  return Object.keys(problems).find((name) => problems[name])
}

/** An address that ends with its host: anything appended but a path would become part of the host. */
const HOST_ONLY = /^[a-z]+:\/\/[^/?#]*$/i

/**
 * A parameter that pages take for the outcome of the login. The client of Feathers looks for the first two names
 * anywhere.
 */
const OUTCOME = /(?:access_token|error|(?<![\w-])(?:code|strategy))=/i

/**
 * Returns the address of the page after a login.
 * @param base the address from the settings
 * @param path what the caller appended; it must stay below the base
 * @throws {NotAuthenticated} the path leads to another origin or outside the base, or could be taken for the outcome of
 *   the login
 */
export function joinPageAddress(base: string, path: string): string {
  if (path === '') return base
  // Drops one of two slashes: `//notes` after a path on this server would be another host.
  const address = base.endsWith('/') ? base + path.replace(/^\//, '') : base + path
  const problem = findProblem(base, path, address)
  if (problem === undefined) return address
  throw createRefusal('Invalid redirect path.', `the redirect holds ${problem}`, OAuthRejected)
}

/** The outcome of a login that the page receives. */
export type OAuthOutcome = AuthenticationResult | Pick<Error, 'message'>

/**
 * Returns an address with the outcome of a login with a strategy in the fragment, which no server or log sees. If the
 * address already has a fragment, as with `#` routes, the outcome becomes, or extends, the query of that route.
 */
export function addOutcome(address: string, outcome: OAuthOutcome, strategy: string): string {
  const { accessToken, code, message } = outcome as Record<string, unknown>
  const error = String(message || 'OAuth Authentication not successful')
  const login = typeof code === 'string' ? { code, strategy } : { error }
  const fields = typeof accessToken === 'string' ? { access_token: accessToken } : login
  const query = new URLSearchParams(fields as Record<string, string>).toString()
  return address + getSeparator(address) + query.replaceAll('+', '%20')
}

function getSeparator(address: string): string {
  if (!address.includes('#')) return address.endsWith('?') ? '' : '#'
  const [, query] = /([?&=].*)$/s.exec(getFragment(address)) ?? []
  if (query === '?') return ''
  return query === undefined ? '?' : '&'
}

/** Returns what follows the first `#` of an address. */
function getFragment(address: string): string {
  return address.split('#').slice(1).join('#')
}

/** Decodes percent-encoded ASCII characters up to three times, as pages may do. */
function decodeOften(text: string): string {
  const decode = (encoded: string): string =>
    encoded.replace(/%([0-7][\da-f])/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  return decode(decode(decode(text)))
}

/**
 * Returns the origin that a login may return to.
 * @param referer the page that it started on, `undefined` if the browser did not send it
 * @param origins the allowed origins; an invalid entry matches nothing
 * @throws {NotAuthenticated} the origin is not allowed
 */
export function checkOrigin(
  referer: unknown,
  origins: readonly unknown[],
  allowsLoopbackPorts: boolean,
): string {
  const allowed = origins.filter(isOrigin)
  const [first] = allowed
  if (first === undefined) {
    throw new OAuthRejected("There is no page after the login: 'origins' names no origin")
  }
  if (referer === undefined) return first
  const url = parseUrl(referer)
  if (url === null || url.origin === 'null') {
    throw new OAuthRejected(
      'Invalid referer: expected an absolute URL (e.g. http://localhost:3000).',
    )
  }
  const isAllowed = allowed.some(
    (origin) => origin === url.origin || (allowsLoopbackPorts && isSameLoopback(origin, url)),
  )
  if (isAllowed) return url.origin
  throw new OAuthRejected(
    `Referer origin "${url.origin}" is not allowed. Configured origins: ${allowed.join(', ')}.`,
  )
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

function isSameLoopback(origin: string, { protocol, hostname }: URL): boolean {
  const allowed = parseUrl(origin)
  return allowed?.protocol === protocol && allowed.hostname === hostname && LOOPBACK.has(hostname)
}

function getAbsoluteAddress(address: string): string {
  return address.startsWith('/') ? OWN_ORIGIN + address : address
}
