import { lookup as lookUpName } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { followSignal } from '../../../core/follow-signal.ts'
import { isPrivateAddress, isSpecialAddress, isUnspecifiedAddress } from './network-address.ts'
import { createProviderError, getSafeOrigin, ProviderError } from './provider-error.ts'

/** Options of `createProviderFetch()`: where requests may go, and their limits. */
export interface ProviderFetchOptions {
  /**
   * Whether providers may have addresses of a private network or of this machine, and answer by
   * `http:` there.
   */
  readonly allowPrivateNetwork: boolean
  /** Finds the addresses of a name; `lookup` of `node:dns` by default. */
  readonly lookup?: LookupFunction | undefined
  /** Milliseconds for a request, from its start to the last byte of its answer; 5000 by default. */
  readonly timeoutMs?: number | undefined
  /** Bytes that the body of an answer may have; a million by default. */
  readonly maxBytes?: number | undefined
}

/**
 * Returns the URL of a provider. In the error of one that is not valid it is not repeated, as it may
 * have a secret.
 * @throws {TypeError} no valid URL
 * @throws {ProviderError} one that no request may go to
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
 * Resolves to the head of the answer. A name is looked up once, and the addresses that are checked
 * are those which are connected to: it can't have another one later. No connection is kept: one that
 * the provider has just closed would lose a code, which can be sent only once.
 * @throws {ProviderError} an address that no request may go to
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
      // An agent for this request only: the global one keeps connections, and may use a proxy.
      agent: false,
      lookup: (hostname, query, callback) =>
        lookup(hostname, query, (error, found, family) => {
          const list = typeof found === 'string' ? [found] : (found ?? []).map((one) => one.address)
          callback(error ?? findError(...list), found, family)
        }),
      method: message.method,
      headers: Object.fromEntries(message.headers),
      // Without it, a variable of the environment could have any certificate accepted.
      rejectUnauthorized: true,
      signal,
    })
    request.on('error', reject)
    request.once('response', (answer) => {
      // Without it, the reader of the body would learn only that it has been cut off, and nothing
      // at all of one whose length is not given: it ends with its connection, whoever closes that.
      request.on('error', (error) => answer.destroy(error))
      resolve(answer)
    })
    // An answer that changes the protocol is neither a response nor an error.
    request.once('close', () => {
      reject(new ProviderError(url, 'sent something that is no answer'))
    })
    request.end(body)
  })
}

/** Returns the error for an address that no request may go to. */
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

/** A request, as `fetch()` takes it. */
export interface ProviderRequest {
  /** `GET` by default. */
  readonly method?: string
  /** `accept-encoding` is always `identity`. */
  readonly headers?: RequestInit['headers']
  /** All that `fetch()` takes but streams, which may never end. */
  readonly body?: RequestInit['body'] | undefined
  /** Redirects are never followed; libraries say so. */
  readonly redirect?: 'manual'
  /** Calls the request off: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

/** Asks a provider, as `fetch()` does. The body of the answer has already been read. */
export type ProviderFetch = (url: string, init?: ProviderRequest) => Promise<Response>

/**
 * Returns a `fetch()` for providers, whose answers are not trusted: it has limits of time and size,
 * follows no redirect, unpacks nothing, uses no proxy of the environment, and reaches only addresses
 * that are allowed. It fits `customFetch` of openid-client and jose. It rejects with a
 * `ProviderError`, or with the reason of a signal.
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
      // Destroys the connection of an answer that was not read to its end.
      call.abort()
    }
  }
}

/** The platform's request knows all kinds of bodies, and which headers belong to them. */
function createRequest(
  url: URL,
  { method = 'GET', headers = {}, body = null }: ProviderRequest,
): Request {
  try {
    const request = new Request(url, { method, headers, body })
    request.headers.set('accept-encoding', 'identity')
    return request
  } catch {
    // Its error would repeat the header that is wrong, which may hold a token.
    const problem = 'can not be asked: the method, a header or the body is not valid'
    throw new ProviderError(url, problem)
  }
}

/** Throws for an answer whose body need not be read. */
function checkHead({ statusCode = 0, headers }: IncomingMessage, url: URL): void {
  if (statusCode < 200 || statusCode > 599) {
    const problem = `answered with the status ${statusCode}, which HTTP does not have`
    throw new ProviderError(url, problem)
  }
  if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
    const to = `${statusCode} to ${findRedirectTarget(url, headers.location)}`
    throw new ProviderError(url, `answered with a redirect (${to}): none is followed`)
  }
  const { 'content-encoding': encoding = '' } = headers
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    const name = /^[\w-]{1,20}$/.test(encoding) ? `'${encoding}'` : 'another'
    const problem = `sent its answer in the encoding ${name}: it was asked for none`
    throw new ProviderError(url, problem)
  }
  if (statusCode >= 500 || statusCode === 429) {
    throw new ProviderError(url, `answered with status ${statusCode}`)
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

/** Statuses whose answers have no body; the platform refuses even an empty one. */
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
