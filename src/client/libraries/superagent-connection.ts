import { InvalidCall } from '../../core/errors/coded-errors.ts'
import type { Answer, PreparedRequest } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { convertBytes, joinHeaders } from './body-bytes.ts'

/** `superagent`: a function that makes requests. Its agents do not qualify. */
export type SuperagentLibrary = (method: string, url: string) => object

/** The part of a superagent request that is used; other options are methods of it too. */
interface SuperagentRequest extends PromiseLike<SuperagentAnswer> {
  set(headers: Readonly<Record<string, string>>): this
  send(body: string): this
  ok(isSuccess: () => boolean): this
  redirects(count: number): this
  responseType(type: 'arraybuffer'): this
  abort(): this
  /** The request of the platform, only in browsers. */
  readonly xhr?: { readonly responseURL: string }
}

interface SuperagentAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

/** A remote service that sends requests with superagent. */
export class SuperagentClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'SuperagentClient'

  /**
   * Sends a request with superagent. Resolves to its response.
   * @throws {BadRequest} a stream is wanted, superagent does not know an option, or a browser would send a token to the
   *   target of any redirect
   */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    const { url, method, headers, body, signal, redirect, responseType, libraryOptions } = request
    if (responseType === 'stream') throw new InvalidCall('superagent has no answers as streams')
    if (request.isBound && 'XMLHttpRequest' in globalThis) {
      throw new InvalidCall(
        'superagent follows redirects in browsers: only the header Authorization can carry a token',
      )
    }
    const superagent = this.connection as (method: string, url: string) => SuperagentRequest
    const sent = superagent(method, url)
      .set(headers)
      .ok(() => true)
      .redirects(redirect === 'follow' ? 5 : 0)
      .responseType('arraybuffer')
    applyOptions(sent, libraryOptions)
    if (body !== undefined) sent.send(body)
    const abort = (): void => void sent.abort()
    signal?.addEventListener('abort', abort)
    try {
      const { status, headers: answerHeaders, body: bytes } = await sent
      if (redirect === 'manual' && !('redirects' in libraryOptions) && isElsewhere(sent, url)) {
        return { status: 0, readHeaders: () => ({}), body: '' }
      }
      return {
        status,
        readHeaders: () => joinHeaders(answerHeaders),
        body: await convertBytes(bytes, responseType, answerHeaders['content-type']),
      }
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }
}

/** Returns whether an `XMLHttpRequest` has followed a redirect, which it does silently. */
function isElsewhere({ xhr }: SuperagentRequest, url: string): boolean {
  if (!xhr?.responseURL) return false
  const { href } = (globalThis as { readonly location?: { readonly href: string } }).location ?? {}
  return xhr.responseURL !== new URL(url, href).href
}

/** Options that change neither what is sent nor what comes back. */
const OPTION_NAMES: ReadonlySet<string> = new Set([
  ...['agent', 'buffer', 'ca', 'cert', 'connect', 'disableTLSCerts', 'http2', 'key', 'lookup'],
  ...['maxResponseSize', 'pfx', 'redirects', 'trustLocalhost', 'use', 'withCredentials'],
])

function applyOptions(request: object, options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    const method: unknown = (request as Record<string, unknown>)[name]
    if (!OPTION_NAMES.has(name) || typeof method !== 'function') {
      throw new InvalidCall(
        `params.connection cannot hold '${name}': superagent has no such option`,
      )
    }
    method.call(request, value)
  }
}
