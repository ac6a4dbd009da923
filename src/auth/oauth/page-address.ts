import { NotAuthenticated } from '../../core/index.ts'
import { createRefusal } from '../auth-errors.ts'
import type { AuthenticationResult } from '../authentication.ts'
import { isOrigin, parseUrl } from '../settings-values.ts'

/** What stands for the address of this server where a page is given as a path. */
const OWN_ORIGIN = 'https://own.invalid'

/** Returns what a caller may not append to an address of the settings, for the log; `undefined` for nothing. */
function findProblem(base: string, path: string, address: string): string | undefined {
  const root = new URL(getAbsoluteAddress(base))
  const target = parseUrl(getAbsoluteAddress(address))
  const resolved = URL.canParse(path, root.href) ? new URL(path, root) : null
  const problems: Readonly<Record<string, boolean>> = {
    'half of a character': !path.isWellFormed(),
    // Browsers drop some of these, so that what they stand between grows together.
    'a space or a control character': /[\s\p{Cc}]/u.test(path),
    'an encoded control character': /%(?:[01][\da-f]|7f)/i.test(path),
    // Browsers read it as a slash.
    'a backslash': /\\|%5c/i.test(path),
    'a scheme': /^[a-z][a-z\d+.-]*:/i.test(path),
    'a segment that leads upwards': /(?:^|[/?#])(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(path),
    'a part of the host': HOST_ONLY.test(base) && !/^[/?#]/.test(path),
    'a query for the outcome': path.endsWith('?') && !address.includes('#'),
    'another host':
      [target, resolved].some((url) => url?.origin !== root.origin) || address.startsWith('//'),
    'another folder': target?.pathname.startsWith(root.pathname) !== true,
    'an outcome of its own': OUTCOME.test(decodeOften(getFragment(address))),
  }
  return Object.keys(problems).find((name) => problems[name])
}

/** An address that ends with its host, which anything but a path would be a part of. */
const HOST_ONLY = /^[a-z]+:\/\/[^/?#]*$/i

/**
 * A parameter that pages take for the outcome of the login. The client of Feathers looks for the
 * name of the first two anywhere.
 */
const OUTCOME = /(?:access_token|error|(?<![\w-])(?:code|strategy))=/i

/**
 * Returns the address of the page after a login.
 * @param base the address from the settings
 * @param path what the caller has appended; it leads nowhere but below the base
 * @throws {NotAuthenticated} the path leads to another origin, or another part of it, or would be
 *   taken for the outcome of the login
 */
export function joinPageAddress(base: string, path: string): string {
  if (path === '') return base
  // Of two slashes one goes: `//notes` behind a path of this server would be another host.
  const address = base.endsWith('/') ? base + path.replace(/^\//, '') : base + path
  const problem = findProblem(base, path, address)
  if (problem === undefined) return address
  throw createRefusal('Invalid redirect path.', `the redirect holds ${problem}`)
}

/**
 * Returns an address with the outcome of a login, in the fragment: no server and no log sees it.
 * Where there is a fragment already, as pages with routes behind `#` have one, the outcome is the
 * query of the route, or a part of that.
 */
export function addOutcome(address: string, outcome: Readonly<Record<string, string>>): string {
  return (
    address + getSeparator(address) + new URLSearchParams(outcome).toString().replaceAll('+', '%20')
  )
}

/** The outcome of a login, as the page after it is told of. */
export type OAuthOutcome = AuthenticationResult | Pick<Error, 'message'>

/** Returns what a page is told of the outcome of a login with a strategy. */
export function getOutcomeFields(outcome: OAuthOutcome, strategy: string): Record<string, string> {
  const { accessToken, code, message } = outcome as Record<string, unknown>
  if (typeof accessToken === 'string') return { access_token: accessToken }
  if (typeof code === 'string') return { code, strategy }
  return { error: String(message || 'OAuth Authentication not successful') }
}

function getSeparator(address: string): string {
  if (!address.includes('#')) return address.endsWith('?') ? '' : '#'
  const [, query] = /([?&=].*)$/s.exec(getFragment(address)) ?? []
  if (query === '?') return ''
  return query === undefined ? '?' : '&'
}

/** Returns what stands behind the first `#` of an address. */
function getFragment(address: string): string {
  return address.split('#').slice(1).join('#')
}

/** Decodes ASCII characters that are percent-encoded up to three times, as pages may do. */
function decodeOften(text: string): string {
  const decode = (encoded: string): string =>
    encoded.replace(/%([0-7][\da-f])/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  return decode(decode(decode(text)))
}

/**
 * Returns the origin that a login may return to.
 * @param referer the page that it began on, `undefined` where the browser did not say
 * @param origins those that are allowed; an entry that is no origin allows none
 * @throws {NotAuthenticated} it is none of them
 */
export function checkOrigin(
  referer: unknown,
  origins: readonly unknown[],
  allowsLoopbackPorts: boolean,
): string {
  const allowed = origins.filter(isOrigin)
  const [first] = allowed
  if (first === undefined) {
    throw new NotAuthenticated("There is no page after the login: 'origins' names no origin")
  }
  if (referer === undefined) return first
  const url = parseUrl(referer)
  if (url === null || url.origin === 'null') {
    throw new NotAuthenticated(
      'Invalid referer: expected an absolute URL (e.g. http://localhost:3000).',
    )
  }
  const isAllowed = allowed.some(
    (origin) => origin === url.origin || (allowsLoopbackPorts && isSameLoopback(origin, url)),
  )
  if (isAllowed) return url.origin
  throw new NotAuthenticated(
    `Referer origin "${url.origin}" is not allowed. Configured origins: ${allowed.join(', ')}.`,
  )
}

/**
 * Checks a setting that lists the origins to which logins return.
 * @param place its name, `origins`
 * @param value `undefined` where it is not set
 * @throws {TypeError} it is no list, or an empty one, or an entry is no origin
 */
export function checkOrigins(place: string, value: unknown): void {
  if (value === undefined) return
  const isList = Array.isArray(value) && value.length > 0
  const wrong = isList ? value.filter((entry) => !isOrigin(entry)) : [value]
  if (wrong.length === 0) return
  throw new TypeError(
    `The setting '${place}' must be a list of origins as 'https://host:port', not ${JSON.stringify(wrong[0])}`,
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
