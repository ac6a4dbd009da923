import { request as sendRequest } from 'node:http'
import t from 'tap'
import type { FastifyApplication, FastifyAppOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp } from '../../src/transport/index.ts'
import type { ListeningServer } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'

let calls = 0

function addNotes(app: FastifyApplication): void {
  app.use('notes', {
    find: async () => ({ calls: ++calls }),
    get: async (id: string) => ({ id, calls: ++calls }),
    create: async (data: object) => ({ ...data, calls: ++calls }),
  })
}

const server = await startOwnServer(t, addNotes)

/** A second request, for whoever reads more requests in the bytes than we do. */
const SECOND = 'GET /notes/smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

/** Sends bytes, and a second request behind them; resolves to the statuses that came back. */
async function statusesOf(bytes: string, target: ListeningServer = server): Promise<number[]> {
  const text = await target.raw(bytes)
  for (const [, body = ''] of text.matchAll(/\r\n\r\n(\{[^\r\n]*\})/g)) JSON.parse(body)
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
}

const POST = 'POST /notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'

/** Requests whose end two servers may see at different places. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'a length and chunks': `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'chunks and a length': `${POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
  'two lengths': `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
  'the same length twice': `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
  'a list of lengths': `${POST}Content-Length: 2, 2\r\n\r\n{}`,
  'a length with a sign': `${POST}Content-Length: +2\r\n\r\n{}`,
  'a hexadecimal length': `${POST}Content-Length: 0x2\r\n\r\n{}`,
  'chunked twice': `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  'chunked in two headers': `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
  'an unknown transfer encoding': `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'a space before the colon': `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  'line feeds alone': 'POST /notes HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}',
  'a folded header': `${POST}X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}`,
  'a chunk size beyond all bounds': `${POST}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n`,
  'a chunk size that is none': `${POST}Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n`,
  'a chunk longer than its size': `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n`,
  '20 kB of chunk extensions': `${POST}Transfer-Encoding: chunked\r\n\r\n2;a=${'b'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  'NUL in a header': `${POST}X-A: a\0b\r\nContent-Length: 2\r\n\r\n{}`,
}

t.test('what can be read in two ways is refused, and the connection closed (HTTP-1)', async (t) => {
  for (const [title, bytes] of Object.entries(AMBIGUOUS)) {
    const before = calls
    const statuses = await statusesOf(bytes + SECOND)
    t.equal(statuses.length, 1, title)
    t.ok([400, 413].includes(statuses[0] ?? 0), `${title} ${statuses}`)
    t.equal(calls, before, title)
  }
})

t.test('a length in a trailer changes nothing (HTTP-1)', async (t) => {
  const body = '2\r\n{}\r\n0\r\nContent-Length: 50\r\n\r\n'
  const bytes = `${POST}Transfer-Encoding: chunked\r\n\r\n${body}`
  const second = 'GET /notes/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const statuses = await statusesOf(bytes + second)
  // Refused, or read as what it is: two requests.
  t.ok(['400', '201,200'].includes(String(statuses)), String(statuses))
})

const HOSTS = [
  'a@b',
  'a/b',
  'a b',
  'a?b',
  'a#b',
  'a\\b',
  'a\tb',
  'ä',
  'x'.repeat(300),
  'a:b',
  'a,b',
]

t.test('refuses two hosts, none, and what is no host (HTTP-2)', async (t) => {
  const send = (headers: string) =>
    statusesOf(`GET /notes/1 HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`)
  t.strictSame(await send('Host: a\r\nHost: b\r\n'), [400])
  t.strictSame(await send('Host: a\r\nhost: a\r\n'), [400])
  t.strictSame(await send(''), [400])
  for (const host of HOSTS) t.strictSame(await send(`Host: ${host}\r\n`), [400], host)
  for (const host of ['a', 'a.test:80', '127.0.0.1:3030', '[::1]:80', 'my_host', '']) {
    t.strictSame(await send(`Host: ${host}\r\n`), [200], host)
  }
})

t.test('refuses more headers than are kept (HTTP-3)', async (t) => {
  const send = (count: number) => {
    const headers = Array.from({ length: count }, (_, index) => `X-${index}: 1\r\n`).join('')
    const last = 'Authorization: Bearer x\r\nConnection: close\r\n\r\n'
    return statusesOf(`GET /notes/1 HTTP/1.1\r\nHost: a\r\n${headers}${last}`)
  }
  t.strictSame(await send(97), [200])
  t.strictSame(await send(98), [431])
  t.strictSame(await send(1_200), [431])
  const long = `GET /notes/1 HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`
  t.strictSame(await statusesOf(long), [431])
})

t.test('refuses HTTP/0.9 and the preface of HTTP/2; answers HTTP/1.0 (HTTP-4)', async (t) => {
  t.match(await server.raw('GET /notes/1\r\n\r\n'), /400/)
  t.strictSame(await statusesOf('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), [400])
  t.match(await server.raw('GET /notes/1 HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200/)
  t.strictSame(await statusesOf('GET /notes/1 HTTP/9.9\r\nHost: a\r\n\r\n'), [400])
})

t.test('the parser that reads anything can not be switched on (HTTP-5)', (t) => {
  const refused: unknown[] = [
    { http: { insecureHTTPParser: true } },
    { https: { insecureHTTPParser: true } },
  ]
  for (const options of refused) {
    t.throws(() => fastifyApp(createApp(), options as FastifyAppOptions), /insecureHTTPParser/)
  }
  t.end()
})

t.test('refuses bodies that are no UTF-8 (HTTP-7)', async (t) => {
  const headers = { 'content-type': 'application/json' }
  for (const bytes of [[0xc0, 0x80], [0xff], [0xe2, 0x82], [0xed, 0xa0, 0x80]]) {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])
    t.equal((await server.request('/notes', { body, headers })).status, 400, String(bytes))
  }
})

t.test('a body that is shorter or longer than declared calls nothing (HTTP-8)', async (t) => {
  const before = calls
  const short = await new Promise<string>((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': 20 }
    const request = sendRequest({ port: server.port, method: 'POST', path: '/notes', headers })
    request.on('error', (error) => resolve(String((error as NodeJS.ErrnoException).code)))
    request.write('{', () => request.destroy())
  })
  t.equal(short, 'ECONNRESET')
  t.equal(calls, before)
  const long = await statusesOf(`${POST}Content-Length: 2\r\n\r\n{}GARBAGE\r\n\r\n`)
  // What was declared is a request of its own; what follows is none, and ends the connection.
  t.equal(long.at(-1), 400)
  t.ok(calls <= before + 1)
})

t.test('Expect is refused, Upgrade and Range are ignored (HTTP-9)', async (t) => {
  const send = (header: string) =>
    statusesOf(`GET /notes/1 HTTP/1.1\r\nHost: a\r\n${header}\r\nConnection: close\r\n\r\n`)
  t.strictSame(await send('Expect: something'), [417])
  t.strictSame(await send('Range: bytes=0-'), [200])
  const upgrade = 'GET /notes/1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\n'
  t.strictSame(await statusesOf(`${upgrade}Upgrade: websocket\r\n\r\n`), [200])
})

t.test('NUL and line breaks in ids are data, and never in a header (HTTP-16)', async (t) => {
  for (const id of ['%00', 'a%0d%0aSet-Cookie:%20a=1', '%0a']) {
    const { status, headers, body } = await server.request(`/notes/${id}`)
    t.match([status, body], [200, { id: decodeURIComponent(id) }])
    t.equal(headers['set-cookie'], undefined)
  }
})

t.test('ids may be long; a line that is too long is refused (HTTP-18)', async (t) => {
  const id = 'x'.repeat(8_000)
  t.match(await server.request(`/notes/${id}`), { status: 200, body: { id } })
  t.strictSame(
    await statusesOf(`GET /notes/${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`),
    [431],
  )
})

t.test('what Node answers without a body gets an error of the same shape (ERR-5)', async (t) => {
  for (const [headers, code, message] of [
    ['', 400, 'The request names no host'],
    ['Host: a\r\nExpect: the-unexpected\r\n', 417, 'Only 100-continue can be expected'],
  ] as const) {
    const bytes = `GET /notes/1 HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`
    const [, body = ''] = (await server.raw(bytes)).split('\r\n\r\n')
    t.match(JSON.parse(body), { name: 'BadRequest', code, message, className: 'bad-request' })
  }
})

t.test('what is no HTTP gets an error of the same shape (ERR-5)', async (t) => {
  const long = `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`
  for (const [bytes, code, name] of [
    ['NONSENSE\r\n\r\n', 400, 'BadRequest'],
    ['\x16\x03\x01\x02\x00\x01\x00\r\n\r\n', 400, 'BadRequest'],
    [long, 431, 'BadRequest'],
  ] as const) {
    const [head = '', body = ''] = (await server.raw(bytes)).split('\r\n\r\n')
    t.match(head, /Content-Type: application\/json; charset=utf-8\r\n/i)
    t.match(head, /Connection: close/i)
    t.match(JSON.parse(body), { name, code, message: String, className: String })
    t.strictSame(Object.keys(JSON.parse(body)), ['name', 'message', 'code', 'className'])
  }
})
