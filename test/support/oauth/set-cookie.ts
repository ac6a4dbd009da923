import { isIpAddress, isTrustworthy } from './site.ts'

export type SameSite = 'Strict' | 'Lax' | 'None'

/** A cookie that a browser keeps. */
export interface Cookie {
  readonly name: string
  readonly value: string
  /** Host that has set it, or the domain that it is for. */
  readonly domain: string
  /** Sent to exactly this host, as there was no `Domain`. */
  readonly hostOnly: boolean
  readonly path: string
  readonly secure: boolean
  readonly httpOnly: boolean
  /** `Lax` when nothing was said, as in Chromium. */
  readonly sameSite: SameSite
  /** Milliseconds since the epoch; `undefined` until the browser is closed. */
  readonly expires: number | undefined
}

/** Largest sum of the bytes of name and value that browsers keep. */
const MAX_PAIR_BYTES = 4096

/** Longest value of an attribute; browsers ignore the attribute beyond that. */
const MAX_ATTRIBUTE_BYTES = 1024

const SAME_SITE: Readonly<Record<string, SameSite>> = { strict: 'Strict', lax: 'Lax', none: 'None' }

/**
 * Reads a `set-cookie` header as a browser does that has received it from a URL.
 *
 * @see RFC 6265bis §5.6
 */
export function parseSetCookie(header: string, url: URL, now: number): Cookie {
  const [pair = '', ...rest] = header.split(';')
  const at = pair.indexOf('=')
  const name = pair.slice(0, Math.max(at, 0)).trim()
  const attributes = readAttributes(rest)
  const domain = attributes.get('domain')?.replace(/^\./, '').toLowerCase()
  const path = attributes.get('path')
  return {
    name,
    value: pair.slice(at + 1).trim(),
    domain: domain || url.hostname,
    hostOnly: !domain,
    path: path?.startsWith('/') ? path : defaultPath(url.pathname),
    secure: attributes.has('secure'),
    httpOnly: attributes.has('httponly'),
    sameSite: SAME_SITE[attributes.get('samesite')?.toLowerCase() ?? ''] ?? 'Lax',
    expires: readExpiry(attributes, now),
  }
}

function readAttributes(parts: readonly string[]): Map<string, string> {
  const attributes = new Map<string, string>()
  for (const part of parts) {
    const [key = '', ...words] = part.split('=')
    const value = words.join('=').trim()
    if (value.length <= MAX_ATTRIBUTE_BYTES) attributes.set(key.trim().toLowerCase(), value)
  }
  return attributes
}

/** `Max-Age` goes before `Expires`; what can not be read is as if it were not there. */
function readExpiry(attributes: ReadonlyMap<string, string>, now: number): number | undefined {
  const maxAge = attributes.get('max-age')
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return now + Number(maxAge) * 1000
  const expires = Date.parse(attributes.get('expires') ?? '')
  return Number.isNaN(expires) ? undefined : expires
}

/** The folder of a request's path, without the slash at its end. */
function defaultPath(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

type Check = (cookie: Cookie, url: URL) => boolean

const hasPrefix = (cookie: Cookie, prefix: string): boolean =>
  cookie.name.toLowerCase().startsWith(prefix)

/** Why a browser refuses a cookie, each with what finds it. */
const REFUSALS: Readonly<Record<string, Check>> = {
  'it has no name': (cookie) => cookie.name === '',
  'it is larger than 4096 bytes': (cookie) =>
    Buffer.byteLength(cookie.name + cookie.value) > MAX_PAIR_BYTES,
  'its Domain is another one': (cookie, url) => !isWithin(url.hostname, cookie),
  'it is Secure, and the URL is not': (cookie, url) => cookie.secure && !isTrustworthy(url),
  'it is SameSite=None without Secure': (cookie) => cookie.sameSite === 'None' && !cookie.secure,
  '__Secure- needs Secure': (cookie) => hasPrefix(cookie, '__secure-') && !cookie.secure,
  '__Host- needs Secure, Path=/ and no Domain': (cookie) =>
    hasPrefix(cookie, '__host-') && !(cookie.secure && cookie.hostOnly && cookie.path === '/'),
}

/** Returns why a browser refuses a cookie from a URL, `undefined` when it keeps it. */
export function findRefusal(cookie: Cookie, url: URL): string | undefined {
  return Object.keys(REFUSALS).find((reason) => REFUSALS[reason]?.(cookie, url))
}

/** Tells whether a host is the one of a cookie, or a host below its domain. */
export function isWithin(host: string, { domain, hostOnly }: Cookie): boolean {
  if (host === domain) return true
  const isDomain = domain.includes('.') && !isIpAddress(host)
  return !hostOnly && isDomain && host.endsWith(`.${domain}`)
}
