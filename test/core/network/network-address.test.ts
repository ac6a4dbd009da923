import t from 'tap'
import {
  isPrivateAddress,
  isSpecialAddress,
  isUnspecifiedAddress,
} from '../../../src/core/network/network-address.ts'

/** The first and the last address of each special block. */
const SPECIAL = [
  ...['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
  ...['127.0.0.0', '127.255.255.255', '169.254.0.0', '169.254.255.255', '172.16.0.0'],
  ...['172.31.255.255', '192.0.0.0', '192.0.0.255', '192.0.2.0', '192.0.2.255', '192.31.196.0'],
  ...['192.52.193.0', '192.88.99.0', '192.168.0.0', '192.168.255.255', '192.175.48.0'],
  ...['198.18.0.0', '198.19.255.255', '198.51.100.0', '203.0.113.255', '224.0.0.0'],
  ...[
    '239.255.255.255',
    '240.0.0.0',
    '255.255.255.255',
    '::',
    '::1',
    '::8.8.8.8',
    '::ffff:8.8.8.8',
  ],
  ...['::ffff:0:8.8.8.8', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1', '1fff::1', '2001::1'],
  ...['2001:1ff:ffff::1', '2001:db8::', '2001:db8:ffff::1', '2002::1', '2002:ffff::1'],
  ...['2620:4f:8000::1', '3fff::1', '3fff:fff::1', '4000::1', '5f00::1', '7fff::1', '8000::1'],
  ...['fc00::1', 'fdff::1', 'fe80::1', 'fe80::1%lo', 'febf::1', 'fec0::1', 'ff02::1'],
]

/** The neighbours of those blocks, and providers. */
const PUBLIC = [
  ...['1.0.0.0', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0'],
  ...['126.255.255.255', '128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255'],
  ...['172.32.0.0', '191.255.255.255', '192.0.1.0', '192.0.3.0', '192.167.255.255', '192.169.0.0'],
  ...['198.17.255.255', '198.20.0.0', '198.51.99.255', '203.0.114.0', '223.255.255.255'],
  ...['2000::1', '2001:200::1', '2001:4860:4860::8888', '2001:db7::1', '2001:db9::1', '2003::1'],
  ...['2606:4700::1111', '2620:4f:7fff::1', '2a00::1', '3ffe::1', '3fff:1000::1'],
]

t.test('an address is special or public, up to the edges of each block (OAU-4)', async (t) => {
  for (const address of SPECIAL) t.ok(isSpecialAddress(address), address)
  for (const address of PUBLIC) t.notOk(isSpecialAddress(address), address)
})

t.test('private networks are a part of what is special (OAU-4)', async (t) => {
  const isPrivate = SPECIAL.filter(isPrivateAddress)
  for (const address of ['127.0.0.0', '10.255.255.255', '172.31.255.255', '::1', 'fdff::1']) {
    t.ok(isPrivate.includes(address), address)
  }
  for (const address of ['169.254.0.0', 'fe80::1', '224.0.0.0', '0.0.0.0', '::', '192.0.2.0']) {
    t.notOk(isPrivate.includes(address), address)
  }
  t.strictSame(PUBLIC.filter(isPrivateAddress), [])
  t.strictSame(SPECIAL.filter(isUnspecifiedAddress), ['0.0.0.0', '0.255.255.255', '::'])
})
