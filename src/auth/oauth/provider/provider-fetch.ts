import { lookup as lookUpName } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { followSignal } from '../../../core/follow-signal.ts'
import { isPrivateAddress, isSpecialAddress, isUnspecifiedAddress } from './network-address.ts'

/** Options of `createProviderFetch()`: allowed targets and limits. */
export interface ProviderFetchOptions {
  /** Whether providers may have addresses in a private network or on this machine, and use `http:` there. */
  readonly allowPrivateNetwork: boolean
  /** Resolves a host name. Default: `lookup` of `node:dns`. */
  readonly lookup?: LookupFunction | undefined
  /** Milliseconds for a request, from its start to the last byte of the response. Default: 5000. */
  readonly timeoutMs?: number | undefined
  /** Maximum size of a response body in bytes. Default: 1,000,000. */
  readonly maxBytes?: number | undefined
}

/**
 * Returns the URL of a provider. The error for an invalid URL does not repeat it, as it may contain a secret.
 * @throws {TypeError} the URL is invalid
 * @throws {ProviderError} the URL is not an allowed target
 */
function parseProviderUrl(target: string, { allowPrivateNetwork }: ProviderFetchOptions): URL {
  if (!URL.canParse(target)) throw new TypeError('The URL of a provider is not valid')
  const url = new URL(target)
  const refuse = (problem: string): never => {
    throw new ProviderError(url, problem)
  }
  if (url.username !== '' || url.password !== '') refuse('has a user or a password in its URL')
  if (url.protocol === 'https:') return url
  if (url.protocol !== 'http:') refuse('has a URL that is not of https:')
  if (!allowPrivateNetwork) refuse("needs https:; private networks do not by 'allowPrivateNetwork'")
  return url
}

/**
 * Resolves to the head of the response. A name is resolved once and the connection goes to exactly the addresses that
 * were checked, so the name cannot change in between. Connections are not reused: if the provider had just closed one,
 * the authorization code, which is single-use, would be lost.
 * @throws {ProviderError} the address is not an allowed target
 */
async function sendRequest(
  message: Request,
  url: URL,
  { allowPrivateNetwork, lookup = lookUpName as LookupFunction }: ProviderFetchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const findError = (...addresses: readonly string[]) =>
    findAddressError(url, addresses, allowPrivateNetwork)
  const refusal = isIP(host) === 0 ? null : findError(host)
  if (refusal !== null) throw refusal
  const body = new Uint8Array(await message.arrayBuffer())
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? requestHttp : requestHttps)(url, {
      // Uses an agent for this request only: the global one keeps connections and may use a proxy.
      agent: false,
      lookup: (hostname, query, callback) =>
        lookup(hostname, query, (error, found, family) => {
          const list = typeof found === 'string' ? [found] : (found ?? []).map((one) => one.address)
          callback(error ?? findError(...list), found, family)
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
      reject(new ProviderError(url, 'sent something that is not a response'))
    })
    request.end(body)
  })
}

/** Returns the error for an address that is not an allowed target. */
function findAddressError(
  url: URL,
  addresses: readonly string[],
  allowPrivateNetwork: boolean,
): ProviderError | null {
  if (url.protocol === 'http:' && !addresses.every(isPrivateAddress)) {
    return new ProviderError(url, 'needs https:, as it is in no private network')
  }
  if (!addresses.some(allowPrivateNetwork ? isUnspecifiedAddress : isSpecialAddress)) return null
  const problem =
    "is at an address that is not allowed; those of private networks are by 'allowPrivateNetwork'"
  return new ProviderError(url, problem)
}

/** The options of a request, as in `fetch()`. */
export interface ProviderRequest {
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

/** Sends a request to a provider, like `fetch()`. The body of the response has already been read. */
export type ProviderFetch = (url: string, init?: ProviderRequest) => Promise<Response>

/**
 * Returns a `fetch()` for providers, whose responses are not trusted: it limits time and size, follows no redirects,
 * decompresses nothing, ignores proxy variables of the environment, and connects only to allowed addresses. It fits
 * `customFetch` of openid-client and jose. It rejects with a `ProviderError` or with the reason of a signal.
 */
export function createProviderFetch(options: ProviderFetchOptions): ProviderFetch {
  const { timeoutMs = 5000, maxBytes = 1_000_000 } = options
  return async (target, init = {}) => {
    const url = parseProviderUrl(target, options)
    const call = new AbortController()
    const { signal } = init
    signal?.throwIfAborted()
    const release = signal && followSignal(signal, () => call.abort(signal.reason))
    const timer = setTimeout(() => {
      call.abort(new ProviderError(url, `did not answer within ${timeoutMs} ms`))
    }, timeoutMs)
    try {
      const request = createRequest(url, init)
      const answer = await sendRequest(request, url, options, call.signal)
      checkHead(answer, url)
      return createResponse(answer, await readBody(answer, url, maxBytes), request)
    } catch (error) {
      throw call.signal.aborted ? call.signal.reason : createProviderError(url, error)
    } finally {
      clearTimeout(timer)
      release?.()
      // Destroys the connection if the response was not read to its end.
      call.abort()
    }
  }
}

/** The platform's `Request` knows every kind of body and the headers that go with it. */
function createRequest(
  url: URL,
  { method = 'GET', headers = {}, body = null }: ProviderRequest,
): Request {
  try {
    const request = new Request(url, { method, headers, body })
    request.headers.set('accept-encoding', 'identity')
    return request
  } catch {
    // The platform's error would quote the invalid header, which may hold a token.
    const problem = 'cannot be called: the method, a header or the body is invalid'
    throw new ProviderError(url, problem)
  }
}

/** Throws for a response whose body need not be read. */
function checkHead({ statusCode = 0, headers }: IncomingMessage, url: URL): void {
  if (statusCode < 200 || statusCode > 599) {
    const problem = `returned the status ${statusCode}, which HTTP does not define`
    throw new ProviderError(url, problem)
  }
  if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
    const to = `${statusCode} to ${findRedirectTarget(url, headers.location)}`
    throw new ProviderError(url, `returned a redirect (${to}), which is not followed`)
  }
  const { 'content-encoding': encoding = '' } = headers
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    const name = /^[\w-]{1,20}$/.test(encoding) ? `'${encoding}'` : 'another'
    const problem = `sent its answer in the encoding ${name}: it was asked for none`
    throw new ProviderError(url, problem)
  }
  if (statusCode >= 500 || statusCode === 429) {
    throw new ProviderError(url, `returned status ${statusCode}`)
  }
}

function findRedirectTarget(url: URL, location: string | undefined): string {
  const isValid = location !== undefined && URL.canParse(location, url.href)
  return isValid ? getSafeOrigin(new URL(location, url)) : 'nowhere'
}

async function readBody(answer: IncomingMessage, url: URL, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      throw new ProviderError(url, `sent an answer of more than ${maxBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
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

/**
 * A provider is down, slow, or sends something invalid. The message is meant for the log. It contains no header, body,
 * path or query, since those carry codes, tokens and secrets. There is no `cause`: errors of Node carry received bytes
 * and certificates.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'

  /** @param problem completes the sentence `The provider at https://accounts.example …` */
  constructor(url: URL, problem: string) {
    super(`The provider at ${getSafeOrigin(url)} ${problem}`)
  }
}

/** Returns the origin of a URL, without the parts that may be secret; the scheme if it has no origin. */
export function getSafeOrigin(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}

/** Returns the `ProviderError` that an error is or was caused by: libraries wrap the errors of the fetch they use. */
export function findProviderError(error: unknown): ProviderError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof ProviderError) return one
    seen.add(one)
  }
  return undefined
}

/**
 * The problem for an error of Node, matched against `CODE message`. The first match counts; any other code means that
 * the provider is unreachable.
 */
const TECHNICAL_PROBLEMS: readonly (readonly [error: RegExp, problem: string])[] = [
  [/^(?:\w*CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/, 'has a certificate that is not trusted'],
  [/^HPE_/, 'sent a response that is not valid HTTP'],
  [/^\w+ /, 'cannot be reached'],
]

/** Returns the error of a failed request. Errors of our own code are returned unchanged. */
export function createProviderError(url: URL, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProviderError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const text = `${code} ${error.message}`
  const [, problem] = TECHNICAL_PROBLEMS.find(([pattern]) => pattern.test(text)) ?? []
  if (problem === undefined) return error
  return new ProviderError(url, code === '' ? problem : `${problem} (${code})`)
}
