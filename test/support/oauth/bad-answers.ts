import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Answered, WriteAnswer } from './local-server.ts'

const MEGABYTE = Buffer.alloc(1024 * 1024, 'a')

/** A JSON object with one long string, in pieces. */
function* longObject(megabytes: number): Generator<Buffer | string> {
  yield '{"id":1,"name":"'
  for (let count = 0; count < megabytes; count += 1) yield MEGABYTE
  yield '"}'
}

/** Sends pieces as fast as they are taken; ends quietly when the client has gone. */
function send(
  pieces: () => Iterable<Buffer | string>,
  headers: Readonly<Record<string, string>> = {},
): WriteAnswer {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    const gzip = headers['content-encoding'] === 'gzip' ? [createGzip()] : []
    await pipeline([Readable.from(pieces()), ...gzip, response]).catch(ignoreAbort)
  }
}

/** What a stream says when the client has gone, by the moment at which it notices. */
const GONE = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'])

function ignoreAbort(error: NodeJS.ErrnoException): void {
  if (!GONE.has(error.code ?? '')) throw error
}

const withType = (type: string, body: string, status = 200): Answered => ({
  status,
  headers: { 'content-type': type },
  body,
})

const json = (body: string, status = 200): Answered => withType('application/json', body, status)

/**
 * What no endpoint of a provider should answer, and any may. Those that do not end wait until the
 * client or the server closes.
 */
export const BAD_ANSWERS: Readonly<Record<string, Answered>> = {
  'a body of 100 MB': send(() => longObject(100)),
  'a body without an end': send(() => longObject(Infinity)),
  'a body of 100 MB in 100 kB of gzip': send(() => longObject(100), { 'content-encoding': 'gzip' }),
  'a body that is no gzip': {
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: '{"id":1}',
  },
  'no answer at all': () => undefined,
  'a body that stops in the middle': (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"id":')
  },
  'a connection that breaks': (response: ServerResponse) => response.destroy(),
  'an empty body': json(''),
  'half of a JSON text': json('{"id":1'),
  'a web page': withType('text/html', '<h1>Sign in</h1>'),
  'JSON that is called text': withType('text/plain', '{"id":1}'),
  null: json('null'),
  'a list': json('[{"id":1}]'),
  'a string': json('"id"'),
  'an object with a prototype': json('{"__proto__":{"id":1,"sub":"1"}}'),
  'status 204': { status: 204 },
  'status 400': json('{"error":"secret-of-the-provider"}', 400),
  'status 401': json('{"message":"Bad credentials"}', 401),
  'status 429': json('{"message":"rate limit"}', 429),
  'status 500': json('{"message":"stack at /srv/provider.js:1:1"}', 500),
  'status 503': withType('text/plain', 'no healthy upstream', 503),
}

/** Redirects that must not be followed, by what they are. */
export function redirectsTo(url: string): Readonly<Record<string, Answered>> {
  const statuses = [301, 302, 303, 307, 308]
  return Object.fromEntries(
    statuses.map((status) => [
      `status ${status} to ${url}`,
      { status, headers: { location: url } },
    ]),
  )
}

/** What must not become the id of an account, as it may stand in a profile. */
export const WRONG_IDS: Readonly<Record<string, unknown>> = {
  missing: undefined,
  null: null,
  true: true,
  false: false,
  'an empty string': '',
  'an object': {},
  'an operator': { $ne: 1 },
  'an operator with a pattern': { $regex: '.*' },
  'an empty list': [],
  'a list of one id': [583231],
  'a fraction': 1.5,
  'a number that is not exact': 2 ** 53,
}
