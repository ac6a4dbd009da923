import type { LookupFunction } from 'node:net'
import t from 'tap'
import type { SafeFetchOptions } from '../../../src/core/network/safe-fetch.ts'
import { SafeFetchError, safeFetch } from '../../../src/core/network/safe-fetch.ts'
import { startProvider, startRawProvider } from '../../auth/oauth/provider/fake-provider.ts'
import { holdTimers } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

const PRIVATE = { allowPrivateNetwork: true }

/** Resolves to the error of a request. */
const errorOf = (url: string | URL, options?: SafeFetchOptions): Promise<unknown> =>
  safeFetch(url, options).then(
    ({ status }) => `answered ${status}`,
    (error) => error,
  )

/** A lookup whose answers differ: the first address for the first call, and so on. */
function createLookup(...addresses: readonly string[]): LookupFunction & { calls: number } {
  const lookup: LookupFunction & { calls: number } = (_hostname, { all }, callback) => {
    const address = addresses[lookup.calls] ?? ''
    lookup.calls += 1
    if (all) setImmediate(callback, null, [{ address, family: 4 }])
    else setImmediate(callback, null, address, 4)
  }
  lookup.calls = 0
  return lookup
}

t.test('sends a request and resolves to the response, whatever its status', async (t) => {
  const server = await startProvider(t, async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    reply.statusCode = Number(request.url?.slice(1))
    reply.setHeader('x-method', String(request.method))
    reply.end(Buffer.concat(chunks))
  })
  for (const status of [200, 404, 429, 500]) {
    const url = new URL(`${server.origin}/${status}`)
    const answer = await safeFetch(url, { ...PRIVATE, method: 'PUT', body: 'é' })
    t.equal(answer.status, status)
    t.equal(answer.headers.get('x-method'), 'PUT')
    t.equal(await answer.text(), 'é')
  }
})

t.test('connects to no private address, however it is written (HOOK-1)', async (t) => {
  const server = await startProvider(t, (_request, reply) => reply.end())
  const hosts = [
    ...['169.254.169.254', '[::ffff:127.0.0.1]', '[::ffff:169.254.169.254]', '127.0.0.1'],
    ...['2130706433', '2852039166', '017700000001', '0177.0.0.1', '0x7f000001', '[::1]', '0'],
  ]
  for (const host of hosts) {
    const error = await errorOf(`https://${host}:${server.port}/`)
    t.ok(error instanceof SafeFetchError, host)
    t.match(error, { name: 'SafeFetchError', message: /^The server at .* not public/ }, host)
  }
  t.equal(server.connections, 0)
})

t.test('refuses http:, other schemes and credentials by default', async (t) => {
  t.match(await errorOf('http://example.org/'), {
    message:
      "The server at http://example.org must use https:. Set 'allowPrivateNetwork' to allow http: in private networks",
  })
  t.match(await errorOf('file:///etc/passwd'), { message: /not of https:/ })
  t.match(await errorOf('https://ann:secret@example.org/'), { message: /user or a password/ })
  t.match(await errorOf('nonsense'), new TypeError('The URL of a server is not valid'))
})

t.test('connects to the address that it has checked, and to no later one (HOOK-2)', async (t) => {
  const server = await startProvider(t, (_request, reply) => reply.end('checked'))
  const lookup = createLookup('127.0.0.1', '169.254.169.254', '127.0.0.1')
  const url = `http://rebinding.example:${server.port}/`
  const answer = await safeFetch(url, { ...PRIVATE, lookup })
  t.equal(await answer.text(), 'checked')
  t.equal(lookup.calls, 1, 'a name is looked up once for each request')
  t.match(await errorOf(url, { ...PRIVATE, lookup }), { message: /private network/ })
  t.match(await errorOf(url.replace('http:', 'https:'), { lookup }), {
    message:
      /has an address that is not public. Set 'allowPrivateNetwork' to allow private networks/,
  })
  t.equal(server.connections, 1)
})

t.test('follows no redirect to a private address (HOOK-3)', async (t) => {
  const inner = await startProvider(t, (_request, reply) => reply.end('secret'))
  const server = await startProvider(t, (_request, reply) => {
    reply.writeHead(302, { location: inner.origin }).end('moved')
  })
  const answer = await safeFetch(server.origin, PRIVATE)
  t.equal(answer.status, 302)
  t.equal(answer.headers.get('location'), inner.origin)
  t.equal(await answer.text(), 'moved')
  t.equal(inner.connections, 0)
})

t.test('reads no more of 100 MB than the limit (HOOK-4)', async (t) => {
  let sent = 0
  const server = await startRawProvider(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
    const chunk = Buffer.alloc(65_536, 'x')
    const go = (): void => {
      while (!socket.destroyed) {
        sent += chunk.length
        if (!socket.write(chunk)) return
      }
    }
    socket.on('drain', go)
    go()
  })
  t.match(await errorOf(server.origin, PRIVATE), { message: /more than 1000000 bytes/ })
  await until(() => server.open === 0)
  const answer = await safeFetch(server.origin, { ...PRIVATE, maxBytes: 10, cutBody: true })
  t.equal(await answer.text(), 'xxxxxxxxxx')
  await until(() => server.open === 0)
  t.ok(sent < 100_000_000)
})

t.test('waits no longer than the limit for a server that never answers (HOOK-4)', async (t) => {
  const timers = holdTimers(t, 4321)
  const server = await startRawProvider(t, () => undefined)
  const failed = errorOf(server.origin, { ...PRIVATE, timeoutMs: 4321 })
  await until(() => server.connections >= 1)
  timers.fire()
  t.match(await failed, { message: /did not answer within 4321 ms/ })
  await until(() => server.open === 0)
})

t.test('rejects with the reason of its signal', async (t) => {
  const server = await startRawProvider(t, () => undefined)
  const caller = new AbortController()
  const failed = errorOf(server.origin, { ...PRIVATE, signal: caller.signal })
  await until(() => server.connections >= 1)
  caller.abort('left')
  t.equal(await failed, 'left')
  await until(() => server.open === 0)
})

t.test('refuses time limits that no timer can hold', async (t) => {
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 31, Number.NaN, -1, 0]) {
    t.match(await errorOf('https://example.org/', { timeoutMs }), {
      name: 'TypeError',
      message: `safeFetch(): 'timeoutMs' must be a number of ms from 1 to 2147483647, not ${timeoutMs}`,
    })
  }
})
