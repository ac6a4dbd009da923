import { execFile } from 'node:child_process'
import type { LookupAddress } from 'node:dns'
import { writeFile } from 'node:fs/promises'
import { createServer as createHttpsServer } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createProviderFetch } from '../../../../src/auth/oauth/provider/provider-fetch.ts'
import { createCertificate } from '../../../support/certificate.ts'
import { failureOf, listen, SECRET, startProvider } from './fake-provider.ts'

const fetchPublic = createProviderFetch({ allowPrivateNetwork: false })

/** Hosts that are this machine, a private network, or nothing that a provider can be at. */
const PRIVATE_HOSTS = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.255.255.254',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
  ],
  ...['0177.0.0.1', '127.0.0.1.', '①②⑦.0.0.1', '%31%32%37.0.0.1', '0', '0.0.0.0', '0.1.2.3'],
  ...['localhost', 'LOCALHOST', '10.0.0.1', '10.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...['169.254.169.254', '2852039166', '100.64.0.1', '192.0.0.1', '198.18.0.1', '192.0.2.1'],
  ...['224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '[::]', '[::1]'],
  ...['[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:0:7f00:1]'],
  ...['[::127.0.0.1]', '[::8.8.8.8]', '[64:ff9b::7f00:1]', '[64:ff9b:1::a00:1]', '[2002:7f00:1::]'],
  ...[
    '[2001::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[ff02::1]',
    '[100::1]',
  ],
  ...['192.31.196.1', '192.52.193.1', '192.88.99.1', '192.175.48.1', '198.51.100.1', '203.0.113.1'],
  ...[
    '[2001:2::1]',
    '[2001:20::1]',
    '[2001:db8::1]',
    '[2620:4f:8000::1]',
    '[3fff::1]',
    '[5f00::1]',
  ],
  ...['[::ffff:8.8.8.8]', '[64:ff9b::808:808]', '[400::1]', '[4000::1]', '[8000::1]'],
]

t.test('asks no host of a private network, however it is written (OAU-4)', async (t) => {
  const server = await listen(t, createServer())
  for (const host of PRIVATE_HOSTS) {
    const { failure, message } = await failureOf(
      fetchPublic(`https://${host}:${server.port}/?code=${SECRET}`),
    )
    t.equal(failure, 'address', `${host}: ${message}`)
  }
  t.equal(server.connections, 0)
})

/** A lookup that answers with what it is given, in the form that it is asked for. */
function createLookup(addresses: readonly LookupAddress[]): LookupFunction & { calls: number } {
  const lookup: LookupFunction & { calls: number } = (_hostname, { all }, callback) => {
    lookup.calls += 1
    const { address, family } = addresses[0] as LookupAddress
    if (all) setImmediate(callback, null, [...addresses])
    else setImmediate(callback, null, address, family)
  }
  lookup.calls = 0
  return lookup
}

t.test('asks no name that has the address of a private network (OAU-4)', async (t) => {
  const server = await listen(t, createServer())
  const lists: readonly (readonly string[])[] = [
    ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '100.64.0.1'].map((one) => [one]),
    ...['::1', '::', '::ffff:127.0.0.1', '::7f00:1', 'fe80::1', 'fe80::1%lo', 'fd00::1'].map(
      (one) => [one],
    ),
    ['192.0.2.1', '127.0.0.1'],
    ['127.0.0.1', '2606:4700::1111'],
  ]
  for (const list of lists) {
    const lookup = createLookup(
      list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
    for (const host of ['provider.example', 'localhost.', 'metadata.internal']) {
      const fetchNamed = createProviderFetch({ allowPrivateNetwork: false, lookup })
      const { failure } = await failureOf(fetchNamed(`https://${host}:${server.port}/`))
      t.equal(failure, 'address', `${host} ${list}`)
    }
    t.equal(lookup.calls, 3, 'a name has no second answer')
  }
  t.equal(server.connections, 0)
})

t.test('asks private networks by http: where they are allowed, and by names as well', async (t) => {
  const provider = await startProvider(t, (request, reply) => reply.end(request.headers.host))
  const lookup = createLookup([{ address: '127.0.0.1', family: 4 }])
  const fetchPrivate = createProviderFetch({ allowPrivateNetwork: true, lookup })
  for (const host of ['127.0.0.1', '127.1', 'keycloak', 'localhost']) {
    const answer = await fetchPrivate(`http://${host}:${provider.port}/`)
    t.equal(answer.status, 200, host)
  }
  t.equal(provider.connections, 4)
})

t.test('asks nothing else by http: (OAU-4)', async (t) => {
  const hosts = [
    ...['8.8.8.8', '169.254.169.254', '0.0.0.0', '224.0.0.1', '[2606:4700::1111]', '[fe80::1]'],
    ...['[::]', '[::ffff:8.8.8.8]', '[::8.8.8.8]', '11.0.0.1', '172.32.0.1', '192.169.0.1'],
  ]
  for (const host of hosts) {
    const fetchPrivate = createProviderFetch({ allowPrivateNetwork: true })
    const { failure, message } = await failureOf(fetchPrivate(`http://${host}/?a=${SECRET}`))
    t.equal(failure, 'address', message)
    const address = host.replace(/[[\]]/g, '')
    const family = address.includes(':') ? 6 : 4
    const lookup = createLookup([
      { address: '127.0.0.1', family: 4 },
      { address, family },
    ])
    const fetchNamed = createProviderFetch({ allowPrivateNetwork: true, lookup })
    t.equal((await failureOf(fetchNamed('http://provider.example/'))).failure, 'address', host)
  }
})

t.test('refuses other URLs, and repeats nothing of them (OAU-4)', async (t) => {
  const refused: readonly (readonly [url: string, allowed: boolean, message: string])[] = [
    ['http://provider.example/', false, 'must use https:'],
    ['http://127.0.0.1/', false, 'must use https:'],
    [`https://ann:${SECRET}@provider.example/`, true, 'has a user or a password in its URL'],
    [`https://${SECRET}@provider.example/`, false, 'has a user or a password in its URL'],
    [`http://:${SECRET}@127.0.0.1/`, true, 'has a user or a password in its URL'],
    [`file:///${SECRET}`, true, 'The provider at file: has a URL that is not of https:'],
    [`ftp://127.0.0.1/${SECRET}`, true, 'not of https:'],
    [`data:application/json,${SECRET}`, true, 'not of https:'],
    [`javascript:${SECRET}`, true, 'not of https:'],
    [`ws://127.0.0.1/${SECRET}`, true, 'not of https:'],
    [`unix:/${SECRET}`, true, 'not of https:'],
  ]
  for (const [url, allowPrivateNetwork, expected] of refused) {
    const { failure, message } = await failureOf(createProviderFetch({ allowPrivateNetwork })(url))
    t.equal(failure, 'address', url)
    t.match(message, expected, url)
  }
  for (const url of ['', `/${SECRET}`, `https://[${SECRET}/`, `https://a b/${SECRET}`]) {
    const { message } = await failureOf(fetchPublic(url))
    t.equal(message, 'The URL of a provider is not valid')
  }
})

t.test("a lookup of one's own may answer at once, with no error, or with nonsense", async (t) => {
  const answers: Readonly<Record<string, string>> = {
    '127.0.0.1': 'address',
    '::7f00:1': 'address',
    nonsense: 'unreachable',
  }
  for (const [address, expected] of Object.entries(answers)) {
    const lookup = ((_hostname, { all }, callback) => {
      const call = callback as (...values: unknown[]) => void
      if (all) call(undefined, [{ address, family: 4 }])
      else call(undefined, address, 4)
    }) satisfies LookupFunction
    const fetchNamed = createProviderFetch({ allowPrivateNetwork: false, lookup })
    t.match(await failureOf(fetchNamed('https://a.example/')), { failure: expected }, address)
  }
})

t.test('says that a provider can not be reached, and by which error', async (t) => {
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const error = new Error(`getaddrinfo ENOTFOUND ${hostname}`)
    callback(Object.assign(error, { code: 'ENOTFOUND' }), [])
  }
  const fetchNowhere = createProviderFetch({ allowPrivateNetwork: false, lookup })
  const { message } = await failureOf(fetchNowhere(`https://gone.example/${SECRET}`))
  t.equal(message, 'The provider at https://gone.example cannot be reached (ENOTFOUND)')

  const fetchPrivate = createProviderFetch({ allowPrivateNetwork: true })
  const closed = await fetchPrivate('http://127.0.0.1:1/').catch((error) => error)
  t.match(closed, { message: / cannot be reached \(ECONNREFUSED\)/ })

  const plain = await startProvider(t, (_request, reply) => reply.end())
  t.match(await failureOf(fetchPrivate(`https://127.0.0.1:${plain.port}/`)), {
    failure: 'unreachable',
    message: /\((?:EPROTO|ERR_SSL_\w+)\)/,
  })
})

/** Asks the URLs that it is told, prints what comes of it, and has nothing else to do. */
const PROGRAM = `
const { createProviderFetch } = await import(process.env.FETCH_MODULE)
const lookup = (name, { all }, done) =>
  all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
const fetchProvider = createProviderFetch({ allowPrivateNetwork: true, lookup })
for (const url of process.env.URLS.split(' ')) {
  console.log(await fetchProvider(url).then(({ status }) => status, ({ message }) => message))
}
`

/** Resolves to the lines of the program, once its process has ended by itself. */
async function runProgram(urls: readonly string[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const FETCH_MODULE = new URL(
    '../../../../src/auth/oauth/provider/provider-fetch.js',
    import.meta.url,
  ).href
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', PROGRAM],
    { env: { FETCH_MODULE, URLS: urls.join(' '), ...env } },
  )
  return stdout.trimEnd().split('\n')
}

t.test('certificates must be trusted, whatever the environment says', async (t) => {
  const certificate = await createCertificate(t)
  if (certificate === null) {
    t.pass('needs openssl')
    return
  }
  let requests = 0
  const server = createHttpsServer(certificate, (_request, reply) => {
    requests += 1
    reply.end('{}')
  })
  const provider = await listen(t, server)
  const url = `https://127.0.0.1:${provider.port}/${SECRET}`
  const expected = 'has a certificate that is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)'
  const failed = await failureOf(createProviderFetch({ allowPrivateNetwork: true })(url))
  t.match(failed, { failure: 'certificate', message: expected })
  const [message] = await runProgram([url], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
  t.match(message, expected)
  t.equal(requests, 0)
})

t.test('trusts NODE_EXTRA_CA_CERTS, uses no proxy, and keeps no process alive', async (t) => {
  const certificate = await createCertificate(t)
  if (certificate === null) {
    t.pass('needs openssl')
    return
  }
  const server = createHttpsServer(certificate, (_request, reply) => reply.end('{}'))
  const provider = await listen(t, server)
  const proxy = await listen(t, createServer())
  const folder = t.testdir()
  await writeFile(join(folder, 'ca.pem'), certificate.cert)
  const [status, message] = await runProgram(
    [`https://127.0.0.1:${provider.port}/`, `https://named.example:${provider.port}/`],
    {
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: proxy.origin,
      HTTP_PROXY: proxy.origin,
    },
  )
  t.equal(status, '200')
  t.match(message, /named\.example:\d+ has a certificate .* \(ERR_TLS_CERT_ALTNAME_INVALID\)/)
  t.equal(proxy.connections, 0)
})
