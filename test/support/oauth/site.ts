/** Loopback addresses, and the names that mean them: browsers trust them without TLS. */
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

const IP_ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[.*\])$/

/** Tells whether browsers treat a URL as secure: https, and http on the loopback interface. */
export function isTrustworthy(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}

/** Tells whether a host is an IP address, which is part of no domain. */
export function isIpAddress(host: string): boolean {
  return IP_ADDRESS.test(host)
}

/**
 * Returns the site of a URL: scheme and registrable domain, without the port, so two ports of one
 * host are one site. Takes the last two labels of a name for its registrable domain; there is no
 * list of public suffixes here.
 */
export function siteOf(url: URL): string {
  const { protocol, hostname } = url
  const domain = isIpAddress(hostname) ? hostname : hostname.split('.').slice(-2).join('.')
  return `${protocol}//${domain}`
}

/** Returns what browsers say in `sec-fetch-site`; `none` for an address that the user has typed. */
export function relationOf(target: URL, initiator: URL | undefined): SiteRelation {
  if (initiator === undefined) return 'none'
  if (initiator.origin === target.origin) return 'same-origin'
  return siteOf(initiator) === siteOf(target) ? 'same-site' : 'cross-site'
}

export type SiteRelation = 'none' | 'same-origin' | 'same-site' | 'cross-site'
