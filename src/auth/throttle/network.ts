import { isIPv6 } from 'node:net'

/**
 * Returns the part of an address that identifies one customer: all of IPv4, the first 64 bits of IPv6. An IPv6 address
 * that contains an IPv4 address returns that.
 */
export function getNetwork(address: string): string {
  // Some proxies add the port: `203.0.113.9:40001` or `[2001:db8::1]:40001`.
  const [bare = ''] = address
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .split('%')
  if (!isIPv6(bare)) return bare
  const groups = listGroups(bare)
  const embedded = IPV4_PREFIXES.includes(groups.slice(0, 6).join(':'))
  if (embedded) {
    const values = groups.slice(6).map((group) => Number.parseInt(group, 16))
    return values.flatMap((value) => [value >> 8, value & 255]).join('.')
  }
  return groups.slice(0, 4).join(':')
}

/** The prefixes of IPv6 addresses that contain an IPv4 one: mapped (RFC 4291) or translated (RFC 6052). */
const IPV4_PREFIXES: readonly string[] = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0']

/** Returns the eight groups of an IPv6 address as URLs write them: in lower case, without leading zeros. */
function listGroups(address: string): string[] {
  const { hostname } = new URL(`http://[${address}]`)
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter(Boolean))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail]
}
