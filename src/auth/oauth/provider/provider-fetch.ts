import type { IncomingMessage } from 'node:http'
import { followSignal } from '../../../core/follow-signal.ts'
import type { ProviderNetwork } from './provider-network.ts'
import {
  createProviderError,
  getSafeOrigin,
  ProviderError,
  parseProviderUrl,
  sendRequest,
} from './provider-network.ts'

/** Options of `createProviderFetch()`. */
export interface ProviderFetchOptions extends ProviderNetwork {
  /** Milliseconds for a request, from its start to the last byte of its answer; 5000 by default. */
  readonly timeoutMs?: number | undefined
  /** Bytes that the body of an answer may have; a million by default. */
  readonly maxBytes?: number | undefined
  /** Calls off all requests, beside the signal that each of them may have. */
  readonly signal?: AbortSignal | undefined
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
    const release = followSignals(call, [options.signal, init.signal])
    const expire = (): void => {
      call.abort(new ProviderError(url, 'timeout', `did not answer within ${timeoutMs} ms`))
    }
    const timer = setTimeout(expire, timeoutMs)
    try {
      call.signal.throwIfAborted()
      const request = createRequest(url, init)
      const answer = await sendRequest(request, url, options, call.signal)
      checkHead(answer, url)
      return createResponse(answer, await readBody(answer, url, maxBytes), request)
    } catch (error) {
      throw call.signal.aborted ? call.signal.reason : createProviderError(url, error)
    } finally {
      clearTimeout(timer)
      release()
      // Destroys the connection of an answer that was not read to its end.
      call.abort()
    }
  }
}

/** Aborts a call when one of the signals is aborted; returns a function that ends this. */
function followSignals(
  call: AbortController,
  signals: readonly (AbortSignal | undefined)[],
): () => void {
  const releases = signals.map((signal) => {
    if (signal?.aborted) call.abort(signal.reason)
    return signal && followSignal(signal, () => call.abort(signal.reason))
  })
  return () => {
    for (const release of releases) release?.()
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
    throw new ProviderError(url, 'request', problem)
  }
}

/** Throws for an answer whose body need not be read. */
function checkHead({ statusCode = 0, headers }: IncomingMessage, url: URL): void {
  if (statusCode < 200 || statusCode > 599) {
    const problem = `answered with the status ${statusCode}, which HTTP does not have`
    throw new ProviderError(url, 'answer', problem)
  }
  if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
    const to = `${statusCode} to ${findRedirectTarget(url, headers.location)}`
    throw new ProviderError(url, 'redirect', `answered with a redirect (${to}): none is followed`)
  }
  const { 'content-encoding': encoding = '' } = headers
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') {
    const name = /^[\w-]{1,20}$/.test(encoding) ? `'${encoding}'` : 'another'
    const problem = `sent its answer in the encoding ${name}: it was asked for none`
    throw new ProviderError(url, 'encoding', problem)
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
      throw new ProviderError(url, 'size', `sent an answer of more than ${maxBytes} bytes`)
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
