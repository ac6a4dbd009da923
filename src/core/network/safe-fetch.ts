import { lookup as lookUpName } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { followSignal } from '../follow-signal.ts'
import { isPrivateAddress, isSpecialAddress, isUnspecifiedAddress } from './network-address.ts'

/** Allowed targets, and limits. */
export interface FetchLimits {
  /** Whether addresses in a private network or on this machine are allowed, and `http:` there. Default: `false`. */
  readonly allowPrivateNetwork?: boolean | undefined
  /** Resolves a host name. Default: `lookup` of `node:dns`. */
  readonly lookup?: LookupFunction | undefined
  /** Milliseconds for a request, from its start to the last byte of the response. Default: 5000. */
  readonly timeoutMs?: number | undefined
  /** Maximum size of a response body in bytes. Default: 1,000,000. */
  readonly maxBytes?: number | undefined
  /** Whether a larger body is cut at `maxBytes`, and not an error. Default: `false`. */
  readonly cutBody?: boolean | undefined
}

/** What is sent, as in `fetch()`. */
export interface SentRequest {
  /** Default: `GET`. */
  readonly method?: string
  /** `accept-encoding` is always `identity`. */
  readonly headers?: RequestInit['headers']
  /** Any body that `fetch()` takes, except streams, which may never end. */
  readonly body?: RequestInit['body'] | undefined
  /** Redirects are never followed. Libraries set this value. */
  readonly redirect?: 'manual'
  /** Aborts the request: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

/** Options of {@link safeFetch}. */
export interface SafeFetchOptions extends SentRequest, FetchLimits {}

/**
 * Sends a request to a URL that someone else has chosen, like `fetch()`: it connects by `https:`, and never to a private
 * network, this machine, or a cloud's metadata, whatever the name in the URL resolves to. It limits time and size,
 * decompresses nothing, and ignores proxy variables of the environment. Resolves to the response, whose body has been
 * read. A redirect is a response like any other: it is not followed.
 * @throws {TypeError} the URL or the time limit is invalid
 * @throws {SafeFetchError} the URL is not an allowed target, there is no response, or it exceeds a limit
 */
export function safeFetch(url: string | URL, options: SafeFetchOptions = {}): Promise<Response> {
  return sendGuarded(String(url), options, options, { ErrorClass: SafeFetchError })
}

/**
 * A server cannot be reached, is not an allowed target, or sends something invalid. The message is meant for the log. It
 * contains no header, body, path or query, since those carry codes, tokens and secrets. There is no `cause`: errors of
 * Node carry received bytes and certificates.
 */
export class SafeFetchError extends Error {
  /** What messages call the other side. */
  static readonly subject: string = 'server'
  /** Written out, because bundlers rename the class. */
  override readonly name: string = 'SafeFetchError'

  /** @param problem completes the sentence `The server at https://accounts.example …` */
  constructor(url: URL, problem: string) {
    super(`The ${new.target.subject} at ${getSafeOrigin(url)} ${problem}`)
  }
}

/** The longest time of a timer: Node ends a longer one at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** How a request differs from that of `safeFetch()`. */
interface FetchKind {
  readonly ErrorClass: typeof SafeFetchError
  /** Throws for a response that is valid, but not wanted. Its body is then not read. */
  readonly checkHead?: (head: IncomingMessage, url: URL) => void
}

/** Sends a request as {@link safeFetch} does. */
export async function sendGuarded(
  target: string,
  { signal, ...init }: SentRequest,
  limits: FetchLimits,
  kind: FetchKind,
): Promise<Response> {
  const { timeoutMs = 5000 } = limits
  if (!(timeoutMs >= 1 && timeoutMs <= MAX_TIMER_MS)) {
    const expected = `a number of ms from 1 to ${MAX_TIMER_MS}`
    throw new TypeError(`safeFetch(): 'timeoutMs' must be ${expected}, not ${timeoutMs}`)
  }
  const url = parseTarget(target, limits, kind.ErrorClass)
  const call = new AbortController()
  signal?.throwIfAborted()
  const release = signal && followSignal(signal, () => call.abort(signal.reason))
  const timer = setTimeout(() => {
    call.abort(new kind.ErrorClass(url, `did not answer within ${timeoutMs} ms`))
  }, timeoutMs)
  try {
    const request = createRequest(url, init, kind)
    const answer = await sendRequest(request, url, limits, kind, call.signal)
    checkHead(answer, url, kind)
    return createResponse(answer, await readBody(answer, url, limits, kind), request)
  } catch (error) {
    throw call.signal.aborted ? call.signal.reason : toFetchError(url, error, kind.ErrorClass)
  } finally {
    clearTimeout(timer)
    release?.()
    // Destroys the connection if the response was not read to its end.
    call.abort()
  }
}

/**
 * Returns the URL of an allowed target; a name in it may still resolve to an address that is not. The error for an
 * invalid URL does not repeat it, as it may contain a secret.
 * @throws {TypeError} the URL is invalid
 * @throws {SafeFetchError} the URL is not an allowed target
 */
export function parseTarget(
  target: string,
  { allowPrivateNetwork = false }: FetchLimits,
  ErrorClass: typeof SafeFetchError = SafeFetchError,
): URL {
  if (!URL.canParse(target)) throw new TypeError(`The URL of a ${ErrorClass.subject} is not valid`)
  const url = new URL(target)
  const refuse = (problem: string): never => {
    throw new ErrorClass(url, problem)
  }
  if (url.username !== '' || url.password !== '') refuse('has a user or a password in its URL')
  if (url.protocol !== 'https:') {
    if (url.protocol !== 'http:') refuse('has a URL that is not of https:')
    if (!allowPrivateNetwork) {
      refuse("must use https:. Set 'allowPrivateNetwork' to allow http: in private networks")
    }
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const problem = isIP(host) === 0 ? null : findAddressProblem(url, [host], allowPrivateNetwork)
  return problem === null ? url : refuse(problem)
}

/** Returns what is wrong with addresses, `null` if all of them are allowed. */
function findAddressProblem(
  url: URL,
  addresses: readonly string[],
  allowPrivateNetwork: boolean,
): string | null {
  if (url.protocol === 'http:' && !addresses.every(isPrivateAddress)) {
    return 'must use https:, as it is in no private network'
  }
  if (!addresses.some(allowPrivateNetwork ? isUnspecifiedAddress : isSpecialAddress)) return null
  return "has an address that is not public. Set 'allowPrivateNetwork' to allow private networks"
}

/** The platform's `Request` knows every kind of body and the headers that go with it. */
function createRequest(
  url: URL,
  { method = 'GET', headers = {}, body = null }: SentRequest,
  { ErrorClass }: FetchKind,
): Request {
  try {
    const request = new Request(url, { method, headers, body })
    request.headers.set('accept-encoding', 'identity')
    return request
  } catch {
    // The platform's error would quote the invalid header, which may hold a token.
    const problem = 'cannot be called: the method, a header or the body is invalid'
    throw new ErrorClass(url, problem)
  }
}

/**
 * Resolves to the head of the response. A name is resolved once and the connection goes to exactly the addresses that
 * were checked, so the name cannot change in between. Connections are not reused: if the other side had just closed one,
 * a request that must not be sent twice would be lost.
 * @throws {SafeFetchError} the address is not an allowed target
 */
async function sendRequest(
  message: Request,
  url: URL,
  { allowPrivateNetwork = false, lookup = lookUpName as LookupFunction }: FetchLimits,
  { ErrorClass }: FetchKind,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const body = new Uint8Array(await message.arrayBuffer())
  const findError = (addresses: readonly string[]): Error | null => {
    const problem = findAddressProblem(url, addresses, allowPrivateNetwork)
    return problem === null ? null : new ErrorClass(url, problem)
  }
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? requestHttp : requestHttps)(url, {
      // Uses an agent for this request only: the global one keeps connections and may use a proxy.
      agent: false,
      lookup: (hostname, query, callback) =>
        lookup(hostname, query, (error, found, family) => {
          const list = typeof found === 'string' ? [found] : (found ?? []).map((one) => one.address)
          callback(error ?? findError(list), found, family)
        }),
      method: message.method,
      headers: Object.fromEntries(message.headers),
      // Overrides `NODE_TLS_REJECT_UNAUTHORIZED`, which could otherwise disable the check of certificates.
      rejectUnauthorized: true,
      signal,
    })
    request.on('error', reject)
    request.once('response', (answer) => {
      // Passes the error on: otherwise the reader would only see a truncated body, and with no Content-Length not even
      // that, as such a body ends when the connection closes.
      request.on('error', (error) => answer.destroy(error))
      resolve(answer)
    })
    // A response that switches protocols fires neither 'response' nor 'error'.
    request.once('close', () => {
      reject(new ErrorClass(url, 'sent something that is not a response'))
    })
    request.end(body)
  })
}

/** Throws for a response whose body need not be read. */
function checkHead(head: IncomingMessage, url: URL, { ErrorClass, ...kind }: FetchKind): void {
  const { statusCode = 0, headers } = head
  if (statusCode < 200 || statusCode > 599) {
    const problem = `returned the status ${statusCode}, which HTTP does not define`
    throw new ErrorClass(url, problem)
  }
  kind.checkHead?.(head, url)
  const { 'content-encoding': encoding = '' } = headers
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    const name = /^[\w-]{1,20}$/.test(encoding) ? `'${encoding}'` : 'another'
    const problem = `sent its answer in the encoding ${name}: it was asked for none`
    throw new ErrorClass(url, problem)
  }
}

async function readBody(
  answer: IncomingMessage,
  url: URL,
  { maxBytes = 1_000_000, cutBody = false }: FetchLimits,
  { ErrorClass }: FetchKind,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    chunks.push(chunk)
    if (size <= maxBytes) continue
    if (cutBody) break
    throw new ErrorClass(url, `sent an answer of more than ${maxBytes} bytes`)
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}

/** Statuses without a body; the platform's `Response` rejects even an empty one. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

function createResponse(answer: IncomingMessage, body: Buffer, { method }: Request): Response {
  const { statusCode: status = 0, rawHeaders } = answer
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  }
  const hasBody = method !== 'HEAD' && !WITHOUT_BODY.has(status)
  return new Response(hasBody ? body : null, { status, headers })
}

/** Returns the origin of a URL, without the parts that may be secret; the scheme if it has no origin. */
export function getSafeOrigin(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}

/**
 * The problem for an error of Node, matched against `CODE message`. The first match counts; any other code means that
 * the server is unreachable.
 */
const TECHNICAL_PROBLEMS: readonly (readonly [error: RegExp, problem: string])[] = [
  [/^(?:\w*CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/, 'has a certificate that is not trusted'],
  [/^HPE_/, 'sent a response that is not valid HTTP'],
  [/^\w+ /, 'cannot be reached'],
]

/** Returns the error of a failed request. Errors of our own code are returned unchanged. */
export function toFetchError(
  url: URL,
  error: unknown,
  ErrorClass: typeof SafeFetchError = SafeFetchError,
): unknown {
  if (!(error instanceof Error) || error instanceof SafeFetchError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const text = `${code} ${error.message}`
  const [, problem] = TECHNICAL_PROBLEMS.find(([pattern]) => pattern.test(text)) ?? []
  if (problem === undefined) return error
  return new ErrorClass(url, code === '' ? problem : `${problem} (${code})`)
}
