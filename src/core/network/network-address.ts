import { BlockList, isIPv6 } from 'node:net'

/** A private network, or this machine. Clouds serve their secrets from link-local addresses. */
const PRIVATE = createList([
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'],
  ...['::1/128', 'fc00::/7'],
])

/** "This host", which operating systems connect to the machine itself. */
const UNSPECIFIED = createList(['0.0.0.0/8', '::/128'])

/**
 * The special-purpose addresses of IPv4, and its multicast and reserved ones.
 * @see RFC 6890, and https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const SPECIAL_IPV4 = createList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24'],
  ...['192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  '224.0.0.0/3',
])

/**
 * All of IPv6 except `2000::/3`, the only block of public addresses, plus the special ranges within that block. IPv6
 * forms of IPv4 addresses are outside `2000::/3` or in one of these ranges.
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const SPECIAL_IPV6 = createList([
  ...['::/3', '4000::/2', '8000::/1'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'],
])

function createList(subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/')
    list.addSubnet(network, Number(prefix), isIPv6(network) ? 'ipv6' : 'ipv4')
  }
  return list
}

/** `BlockList` matches IPv4-mapped IPv6 addresses against IPv4 subnets, and vice versa. */
function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Returns whether an address is in a private network or is this machine. */
export const isPrivateAddress = (address: string): boolean => isIn(PRIVATE, address)

/** Returns whether an address is `0.0.0.0`, `::` or the like. */
export const isUnspecifiedAddress = (address: string): boolean => isIn(UNSPECIFIED, address)

/**
 * Returns whether an address is not publicly reachable: private, link-local, multicast, reserved, or an IPv6 form of an
 * IPv4 address.
 */
export const isSpecialAddress = (address: string): boolean =>
  isIn(isIPv6(address) ? SPECIAL_IPV6 : SPECIAL_IPV4, address)
