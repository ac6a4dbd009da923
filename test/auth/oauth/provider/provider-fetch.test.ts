import { getEventListeners } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose'
import { allowInsecureRequests, customFetch, discovery } from 'openid-client'
import t from 'tap'
import type { ProviderRequest } from '../../../../src/auth/oauth/provider/provider-fetch.ts'
import {
  createProviderFetch,
  findProviderError,
} from '../../../../src/auth/oauth/provider/provider-fetch.ts'
import { holdTimers } from '../../../support/clock.ts'
import { until } from '../../../support/until.ts'
import { failureOf, SECRET, startProvider, startRawProvider } from './fake-provider.ts'

const PRIVATE = { allowPrivateNetwork: true }
const fetchProvider = createProviderFetch(PRIVATE)

/** A request with secrets everywhere. */
const POST: ProviderRequest = {
  method: 'POST',
  headers: { authorization: `Bearer ${SECRET}`, 'x-key': SECRET },
  body: new URLSearchParams({ code: SECRET }),
}

t.test('sends what fetch() would send, without its encodings', async (t) => {
  const bodies: (readonly [ProviderRequest['body'], string, string | undefined])[] = [
    [new URLSearchParams({ a: 'b c' }), 'a=b+c', 'application/x-www-form-urlencoded;charset=UTF-8'],
    ['é', 'é', 'text/plain;charset=UTF-8'],
    [new TextEncoder().encode('bytes'), 'bytes', undefined],
    [null, '', undefined],
  ]
  const provider = await startProvider(t, async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    reply.end(JSON.stringify([request.url, request.headers, Buffer.concat(chunks).toString()]))
  })
  for (const [body = null, text, type] of bodies) {
    const answer = await fetchProvider(`${provider.origin}/a%20b?c=d#e`, {
      method: 'POST',
      headers: new Headers({ 'x-one': '1', 'accept-encoding': 'gzip' }),
      body,
      redirect: 'manual',
    })
    const [url, headers, received] = (await answer.json()) as [string, IncomingHttpHeaders, string]
    t.strictSame([url, received], ['/a%20b?c=d', text])
    t.match(headers, { 'x-one': '1', 'accept-encoding': 'identity', connection: 'close' })
    t.equal(headers['content-type'], type)
    t.equal(headers['content-length'], String(Buffer.byteLength(text)))
  }
})

t.test('answers as fetch() does, and leaves no connection open', async (t) => {
  const provider = await startProvider(t, (_request, reply) => {
    reply.writeEarlyHints({ link: '</a>; rel=preload' })
    reply.setHeader('set-cookie', ['a=1', 'b=2', 'c=3'])
    reply.setHeader('content-encoding', 'identity')
    reply.setHeader('trailer', 'x-late')
    reply.statusCode = 418
    reply.write('{"a":')
    reply.addTrailers({ 'x-late': '1' })
    reply.end('1}')
  })
  const answer = await fetchProvider(provider.origin)
  t.equal(answer.status, 418)
  t.strictSame(answer.headers.getSetCookie(), ['a=1', 'b=2', 'c=3'])
  t.equal(answer.headers.get('x-late'), null)
  t.strictSame(await answer.json(), { a: 1 })
  await until(() => provider.open === 0)
})

t.test('answers without a body have none', async (t) => {
  const provider = await startProvider(t, (request, reply) => {
    reply.statusCode = Number(request.url?.slice(1))
    if (request.method === 'HEAD') reply.setHeader('content-length', '5000000')
    reply.end()
  })
  for (const status of [204, 205, 304]) {
    const answer = await fetchProvider(`${provider.origin}/${status}`)
    t.strictSame([answer.status, answer.body], [status, null])
  }
  const head = await fetchProvider(`${provider.origin}/200`, { method: 'HEAD' })
  t.strictSame([head.status, head.body, head.headers.get('content-length')], [200, null, '5000000'])
})

t.test('follows no redirect, and names only the origin of its target (OAU-4)', async (t) => {
  const targets: readonly (readonly [location: string | undefined, named: string])[] = [
    [`http://user:${SECRET}@127.0.0.1:1/${SECRET}?code=${SECRET}#${SECRET}`, 'http://127.0.0.1:1'],
    [`//other.example/${SECRET}`, 'http://other.example'],
    [`/${SECRET}`, 'ORIGIN'],
    [`data:text/plain,${SECRET}`, 'data:'],
    [`http://[${SECRET}`, 'nowhere'],
    [undefined, 'nowhere'],
  ]
  for (const status of [300, 301, 302, 303, 305, 307, 308, 399]) {
    for (const [location, named] of targets) {
      const provider = await startProvider(t, (_request, reply) => {
        reply.writeHead(status, location === undefined ? {} : { location })
        reply.end(SECRET)
      })
      const { failure, message } = await failureOf(fetchProvider(provider.origin, POST))
      t.equal(failure, 'redirect', message)
      t.match(message, `${status} to ${named.replace('ORIGIN', provider.origin)})`)
      t.equal(provider.connections, 1)
    }
  }
})

t.test('takes a body up to the limit and not a byte more, of any length (OAU-4)', async (t) => {
  const provider = await startProvider(t, (request, reply) => {
    const size = Number(request.url?.slice(1))
    reply.write('x'.repeat(size - 1))
    reply.end('x')
  })
  const fetchSmall = createProviderFetch({ ...PRIVATE, maxBytes: 1000 })
  const answer = await fetchSmall(`${provider.origin}/1000`)
  t.equal((await answer.text()).length, 1000)
  const { failure, message } = await failureOf(fetchSmall(`${provider.origin}/1001`))
  t.equal(failure, 'size')
  t.equal(message, `The provider at ${provider.origin} sent an answer of more than 1000 bytes`)
})

t.test('ends a body that never ends at a megabyte (OAU-4)', async (t) => {
  const provider = await startRawProvider(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
    const chunk = Buffer.alloc(65_536)
    const go = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', go)
    go()
  })
  t.match(await failureOf(fetchProvider(provider.origin)), { failure: 'size', message: '1000000' })
  await until(() => provider.open === 0)
})

t.test('refuses packed answers by the name of their encoding (OAU-4)', async (t) => {
  const bomb = gzipSync(Buffer.alloc(1_000_000))
  t.ok(bomb.length < 1100, 'a thousandth of what is in it')
  const encodings: readonly (readonly [string, string])[] = [
    ['gzip', "the encoding 'gzip'"],
    ['br', "the encoding 'br'"],
    ['identity, gzip', 'the encoding another'],
    [SECRET.repeat(10), 'the encoding another'],
  ]
  for (const [encoding, named] of encodings) {
    const provider = await startProvider(t, (_request, reply) => {
      reply.setHeader('content-encoding', encoding)
      // Without an end: only who asks can close the connection.
      reply.write(bomb)
    })
    const { failure, message } = await failureOf(fetchProvider(provider.origin))
    t.equal(failure, 'encoding')
    t.match(message, named)
    await until(() => provider.open === 0)
  }
})

/** Writes without an end, as fast as the other side reads. */
function repeat(socket: Socket, text: string): void {
  if (socket.destroyed) return
  socket.write(text, () => setImmediate(repeat, socket, text))
}

const HEAD = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`

t.test('the time limit is for the whole of an answer (OAU-4)', async (t) => {
  const slow: Readonly<Record<string, (socket: Socket) => unknown>> = {
    'says nothing': () => undefined,
    'never ends its head': (socket) => socket.write(HEAD),
    'only says that it goes on': (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    'sends no body': (socket) => socket.write(`${HEAD}Content-Length: 5\r\n\r\n`),
    'sends its body by bytes': (socket) => {
      socket.write(CHUNKED)
      repeat(socket, '1\r\nx\r\n')
    },
    'never ends its body': (socket) => socket.write(`${HEAD}\r\n${SECRET}`),
  }
  for (const [title, answer] of Object.entries(slow)) {
    const timers = holdTimers(t, 4321)
    const provider = await startRawProvider(t, answer)
    const fetchSlow = createProviderFetch({ ...PRIVATE, timeoutMs: 4321, maxBytes: 1e9 })
    const failed = failureOf(fetchSlow(`${provider.origin}/?code=${SECRET}`, POST))
    await until(() => provider.connections >= 1)
    timers.fire()
    const message = `The provider at ${provider.origin} did not answer within 4321 ms`
    t.strictSame(await failed, { failure: 'timeout', message }, title)
    await until(() => provider.open === 0)
  }
})

t.test('the time limit is for names and handshakes as well, and 5 s by default', async (t) => {
  const timers = holdTimers(t, 5000)
  const provider = await startRawProvider(t, () => undefined)
  const handshake = failureOf(fetchProvider(`https://127.0.0.1:${provider.port}/`))
  await until(() => provider.connections >= 1)
  let lookups = 0
  const lookup = (): void => {
    lookups += 1
  }
  const name = failureOf(createProviderFetch({ ...PRIVATE, lookup })('https://slow.example/'))
  await until(() => lookups >= 1)
  timers.fire()
  t.match(await handshake, { failure: 'timeout', message: 'within 5000 ms' })
  t.match(await name, { failure: 'timeout', message: 'within 5000 ms' })
})

t.test('no time limit is left behind', async (t) => {
  const timers = holdTimers(t, 5000)
  const provider = await startProvider(t, (_request, reply) => reply.end('{}'))
  await fetchProvider(provider.origin)
  await failureOf(fetchProvider('https://127.0.0.1:1/'))
  t.equal(timers.size, 0)
})

t.test('rejects with the reason of a signal, and closes the connection (ABORT-4)', async (t) => {
  const waiting: Readonly<Record<string, (socket: Socket) => unknown>> = {
    'before the answer': () => undefined,
    'within the head': (socket) => socket.write(HEAD),
    'within the body': (socket) => socket.write(`${HEAD}Content-Length: 5\r\n\r\nab`),
  }
  for (const [title, answer] of Object.entries(waiting)) {
    let asked = false
    const provider = await startRawProvider(t, (socket) => {
      answer(socket)
      asked = true
    })
    const caller = new AbortController()
    const { signal } = caller
    const answered = fetchProvider(provider.origin, { ...POST, signal })
    await until(() => asked)
    const reason = { left: title }
    caller.abort(reason)
    t.equal(await answered.catch((error) => error), reason, title)
    await until(() => provider.open === 0)
    t.strictSame(getEventListeners(signal, 'abort'), [])
  }
})

t.test('asks nobody for a caller who has left already (ABORT-4)', async (t) => {
  const provider = await startProvider(t, (_request, reply) => reply.end())
  const signal = AbortSignal.abort('left')
  t.equal(await fetchProvider(provider.origin, { signal }).catch((error) => error), 'left')
  t.equal(provider.connections, 0)
})

t.test('a signal that outlives its requests gathers nothing', async (t) => {
  const provider = await startProvider(t, (_request, reply) => reply.end())
  const { signal } = new AbortController()
  for (let count = 0; count < 5; count += 1) await fetchProvider(provider.origin, { signal })
  t.strictSame(getEventListeners(signal, 'abort'), [])
})

t.test('faults of a provider are errors that say so and tell no secret', async (t) => {
  const ok = `${HEAD}X-Token: ${SECRET}\r\n`
  const faults: Readonly<
    Record<string, readonly [string | ((socket: Socket) => unknown), RegExp]>
  > = {
    closes: [(socket) => socket.end(), /unreachable .*ECONNRESET/],
    resets: [(socket) => socket.resetAndDestroy(), /unreachable .*ECONNRESET/],
    'resets in the head': [(socket) => socket.write(ok, () => socket.resetAndDestroy()), /unreach/],
    'ends in the head': [ok, /unreachable|answer/],
    'ends in the body': [`${ok}Content-Length: 50\r\n\r\n${SECRET}`, /unreachable .*ECONNRESET/],
    'ends in a chunk': [`${CHUNKED}50\r\n${SECRET}`, /unreachable .*ECONNRESET/],
    'ends between chunks': [`${CHUNKED}6\r\n${SECRET}\r\n`, /unreachable .*ECONNRESET/],
    'has no size of a chunk': [`${CHUNKED}${SECRET}\r\n`, /answer .*HPE_INVALID_CHUNK_SIZE/],
    'speaks something else': [`SSH-2.0-${SECRET}\r\n`, /answer .*HPE_/],
    'speaks HTTP/0.9': [`<p>${SECRET}</p>`, /answer .*HPE_/],
    'speaks HTTP/9.9': [`HTTP/9.9 200 OK\r\n\r\n${SECRET}`, /answer .*HPE_/],
    'has a control character': [`${ok}X: a\x01${SECRET}\r\n\r\n`, /answer .*HPE_/],
    'has a NUL': [`${ok}X: a\0${SECRET}\r\n\r\n`, /answer .*HPE_/],
    'has a bare CR': [`${ok}X: a\r${SECRET}\r\n\r\n`, /answer .*HPE_/],
    'has a bad name': [`${ok}X Y: ${SECRET}\r\n\r\n`, /answer .*HPE_/],
    'has two lengths': [`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, /answer .*HPE_/],
    'has no length': [`${ok}Content-Length: x\r\n\r\nab`, /answer .*HPE_/],
    'has the status 000': [`HTTP/1.1 000 ${SECRET}\r\n\r\n`, /answer .*status 0,/],
    'has the status 999': [`HTTP/1.1 999 ${SECRET}\r\n\r\n`, /answer .*status 999,/],
    'has the status 1000': [`HTTP/1.1 1000 ${SECRET}\r\n\r\n`, /answer .*HPE_/],
    'changes the protocol': [
      `HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: ${SECRET}\r\n\r\n`,
      /answer .*not a response/,
    ],
    'never ends its headers': [
      (socket) => {
        socket.write(ok)
        repeat(socket, `X-Many: ${SECRET}\r\n`)
      },
      /answer .*HPE_HEADER_OVERFLOW/,
    ],
    'never ends a header': [
      (socket) => {
        socket.write(`${ok}X-Long: `)
        repeat(socket, SECRET)
      },
      /answer .*HPE_HEADER_OVERFLOW/,
    ],
    'never ends its trailers': [
      (socket) => {
        socket.write(`${CHUNKED}0\r\n`)
        repeat(socket, `X-Many: ${SECRET}\r\n`)
      },
      /answer .*HPE_HEADER_OVERFLOW/,
    ],
    'never ends what it says of a chunk': [
      (socket) => {
        socket.write(`${CHUNKED}1;a=`)
        repeat(socket, SECRET)
      },
      /answer .*HPE_CHUNK_EXTENSIONS_OVERFLOW/,
    ],
  }
  for (const [title, [fault, expected]] of Object.entries(faults)) {
    const provider = await startRawProvider(t, (socket) =>
      typeof fault === 'string' ? socket.end(fault) : fault(socket),
    )
    const url = `${provider.origin}/${SECRET}?code=${SECRET}`
    const { failure, message } = await failureOf(fetchProvider(url, POST))
    t.match(`${failure} ${message}`, expected, title)
    t.match(message, `The provider at ${provider.origin} `, title)
    await until(() => provider.open === 0)
  }
})

t.test('what looks like a fault and is none is taken', async (t) => {
  const answers: Readonly<Record<string, string>> = {
    'says first that it goes on': `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n${HEAD}\r\nok`,
    'has bytes of Latin-1 in its headers': `${HEAD}X-Name: \xe9\xff\r\n\r\nok`,
    'has an empty encoding': `${HEAD}Content-Encoding:\r\n\r\nok`,
    'has no reason': 'HTTP/1.1 200\r\n\r\nok',
    'has bytes of Latin-1 in its reason': 'HTTP/1.1 200 \xe9\r\n\r\nok',
  }
  for (const [title, text] of Object.entries(answers)) {
    const provider = await startRawProvider(t, (socket) => socket.end(text, 'latin1'))
    const answer = await fetchProvider(provider.origin)
    t.strictSame([answer.status, await answer.text()], [200, 'ok'], title)
  }
})

t.test('a request that is not valid is refused without what is in it', async (t) => {
  const provider = await startProvider(t, (_request, reply) => reply.end())
  const requests: readonly ProviderRequest[] = [
    { headers: { authorization: `Bearer ${SECRET}\nx: y` } },
    { headers: { [`${SECRET} `]: 'x' } },
    { method: `${SECRET} ` },
    { method: 'GET', body: SECRET },
    { method: 'POST', body: new Blob([SECRET]).stream() },
  ]
  for (const request of requests) {
    const { failure, message } = await failureOf(fetchProvider(provider.origin, request))
    t.equal(failure, 'request', message)
  }
  t.equal(provider.connections, 0)
})

t.test('openid-client and jose take it, and its errors are found in theirs', async (t) => {
  const provider = await startProvider(t, (request, reply) => {
    reply.setHeader('content-type', 'application/json')
    if (request.url === '/keys') reply.writeHead(302, { location: `/?${SECRET}` }).end()
    else reply.end(JSON.stringify({ issuer: provider.origin }))
  })
  const options = { [customFetch]: fetchProvider, execute: [allowInsecureRequests] }
  const config = await discovery(new URL(provider.origin), 'us', undefined, undefined, options)
  t.equal(config.serverMetadata().issuer, provider.origin)

  const closed = new URL('https://127.0.0.1:1')
  const refused = await discovery(closed, 'us', undefined, undefined, {
    [customFetch]: createProviderFetch({ allowPrivateNetwork: false }),
  }).catch((error) => error)
  t.match(findProviderError(refused), { message: /at https:\/\/127\.0\.0\.1:1 has an address/ })

  const keys = createRemoteJWKSet(new URL(`${provider.origin}/keys`), {
    [joseFetch]: fetchProvider,
  })
  const failed = await keys({ alg: 'ES256' }).catch((error) => error)
  t.match(findProviderError(failed), { message: `at ${provider.origin} returned a redirect` })
})
