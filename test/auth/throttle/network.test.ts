import t from 'tap'
import { getNetwork } from '../../../src/auth/throttle/network.ts'

/** Addresses by the network that they count for. */
const NETWORKS: Record<string, readonly string[]> = {
  '203.0.113.9': [
    ...['203.0.113.9', '203.0.113.9:40001', '::ffff:203.0.113.9', '::FFFF:203.0.113.9'],
    ...['[::ffff:203.0.113.9]:40001', '::ffff:cb00:7109', '0:0:0:0:0:ffff:203.0.113.9'],
    ...['0000:0000:0000:0000:0000:ffff:cb00:7109', '::ffff:203.0.113.9%eth0'],
    // Of a network that has no IPv4 any more.
    ...['64:ff9b::203.0.113.9', '64:ff9b::cb00:7109', '0064:FF9B::CB00:7109'],
  ],
  '203.0.113.10': ['203.0.113.10', '::ffff:cb00:710a', '64:ff9b::cb00:710a'],
  '2001:db8:1:2': [
    ...['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0DB8:0001:0002::1'],
    ...['[2001:db8:1:2::3]', '[2001:db8:1:2::3]:40001', '2001:db8:1:2::4%eth0'],
    ...['2001:db8:1:2::203.0.113.9'],
  ],
  '2001:db8:1:3': ['2001:db8:1:3::1'],
  '2001:db8:0:0': ['2001:db8::1', '2001:db8:0:0::1'],
  'fe80:0:0:0': ['fe80::1%eth0', 'fe80::2%1'],
  '0:0:0:0': ['::1', '::'],
  unknown: ['unknown'],
  '': [''],
}

t.test('an address counts for its network, in whatever way it is written', async (t) => {
  for (const [network, addresses] of Object.entries(NETWORKS)) {
    for (const address of addresses) t.equal(getNetwork(address), network, address)
  }
})
