import { isIPv6 } from 'node:net'

/** Returns the part of an address that one customer has: all of IPv4, the first 64 bits of IPv6. */
export function toNetwork(address: string): string {
  const [bare = ''] = stripPort(address).split('%')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)
  if (mapped?.[1] !== undefined) return mapped[1]
  if (!isIPv6(bare)) return bare
  const [head = '', tail] = bare.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - countGroups(tail)
  const full = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...toGroups(tail)]
  return full
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** Some proxies add the port: `203.0.113.9:40001` or `[2001:db8::1]:40001`. */
function stripPort(address: string): string {
  return address
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
}

function toGroups(part: string | undefined): string[] {
  return part === undefined || part === '' ? [] : part.split(':')
}

/** An IPv4 address at the end of an IPv6 one stands for two groups. */
function countGroups(part: string): number {
  return toGroups(part).reduce((sum, group) => sum + (group.includes('.') ? 2 : 1), 0)
}
