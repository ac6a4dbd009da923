import { createNotAuthenticated } from '../auth-errors.ts'
import { toAbsoluteUrl } from './settings/absolute-url.ts'

/** What stands for the address of this server where a page is given as a path. */
const OWN_ORIGIN = 'https://own.invalid'

/**
 * What the callers' part of an address may not hold: a scheme, spaces and other control characters,
 * also encoded, the backslash, which browsers read as a slash, and segments that lead upwards.
 */
const FORBIDDEN =
  /^[a-z][a-z\d+.-]*:|[\s\\\p{Cc}]|%(?:0[0-9a-f]|1[0-9a-f]|7f|5c)|(?:^|[/?#])(?:\.|%2e){1,2}(?:[/?#]|$)/iu

/** An address that ends with its host, which anything but a path would be a part of. */
const HOST_ONLY = /^[a-z]+:\/\/[^/?#]*$/i

/**
 * Returns the address of the page after a login.
 * @param base the address from the settings
 * @param path what the caller has appended; it leads nowhere but below the base
 * @throws {NotAuthenticated} the path leads to another origin, or another part of it
 */
export function joinPageAddress(base: string, path: string): string {
  if (path === '') return base
  // Of two slashes one goes: `//notes` behind a path of this server would be another host.
  const address = base.endsWith('/') ? base + path.replace(/^\//, '') : base + path
  const target = toAbsoluteUrl(toAbsolute(address))
  const resolved = URL.canParse(path, toAbsolute(base)) ? new URL(path, toAbsolute(base)) : null
  const expected = new URL(toAbsolute(base))
  const isSafe =
    path.isWellFormed() &&
    !FORBIDDEN.test(path) &&
    (!HOST_ONLY.test(base) || /^[/?#]/.test(path)) &&
    // In a query the token would be sent to the server of the page, and logged.
    !(path.endsWith('?') && !address.includes('#')) &&
    target?.origin === expected.origin &&
    resolved?.origin === expected.origin &&
    target.username === '' &&
    target.pathname.startsWith(expected.pathname) &&
    !address.startsWith('//')
  if (!isSafe) throw createNotAuthenticated('Invalid redirect path.')
  return address
}

/**
 * Returns an address with the outcome of a login, in the fragment: no server and no log sees it.
 * @param base the part of the address from the settings; where it has a fragment already, as
 *   pages with routes behind `#` have, the outcome is a query within that
 */
export function addOutcome(
  base: string,
  address: string,
  outcome: Readonly<Record<string, string>>,
): string {
  const separator = address.endsWith('?') ? '' : base.includes('#') ? '?' : '#'
  return address + separator + new URLSearchParams(outcome).toString().replaceAll('+', '%20')
}

/**
 * Returns the origin that a login may return to.
 * @param referer the page that it began on, `undefined` where the browser did not say
 * @param origins those that are allowed
 * @throws {NotAuthenticated} it is none of them
 */
export function checkOrigin(
  referer: unknown,
  origins: readonly string[],
  allowsLoopbackPorts: boolean,
): string | undefined {
  if (referer === undefined) return origins[0]
  const url = toAbsoluteUrl(referer)
  if (url === null || url.origin === 'null') {
    throw createNotAuthenticated(
      'Invalid referer: expected an absolute URL (e.g. http://localhost:3000).',
    )
  }
  const isAllowed = origins.some(
    (origin) => origin === url.origin || (allowsLoopbackPorts && isSameLoopback(origin, url)),
  )
  if (isAllowed) return url.origin
  throw createNotAuthenticated(
    `Referer origin "${url.origin}" is not allowed. Configured origins: ${origins.join(', ')}.`,
  )
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

function isSameLoopback(origin: string, { protocol, hostname }: URL): boolean {
  const allowed = toAbsoluteUrl(origin)
  return allowed?.protocol === protocol && allowed.hostname === hostname && LOOPBACK.has(hostname)
}

function toAbsolute(address: string): string {
  return address.startsWith('/') ? OWN_ORIGIN + address : address
}
