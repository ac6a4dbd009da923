import type { $Fetch } from 'ofetch'
import { isPlainObject } from '../../core/value-kind.ts'
import { isSuccess } from '../answers/response-error.ts'
import type { Answer, PreparedRequest, ResponseType } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'

/** The part of a response that is read from fetch functions. */
export interface FetchAnswer {
  /** The HTTP status. */
  readonly status: number
  /** The headers, as pairs of name and value. */
  readonly headers: {
    /** Calls a function with each header. */
    forEach(callback: (value: string, name: string) => void): void
  }
  /** The body as a stream. */
  readonly body: unknown
  /** Resolves to the body as a string. */
  text(): Promise<string>
  /** Resolves to the bytes of the body. */
  arrayBuffer(): Promise<unknown>
  /** Resolves to the body as a file. */
  blob(): Promise<unknown>
}

/** The options that fetch functions receive. */
export interface FetchOptions {
  /** The HTTP method. */
  readonly method: string
  /** The headers. */
  readonly headers: Record<string, string>
  /** JSON, or nothing. */
  readonly body: string | null
  /** Aborts the request. */
  readonly signal: AbortSignal | null
  /** Whether redirects are followed. */
  readonly redirect: 'follow' | 'manual'
}

/** `fetch` of the platform, or a function with the same arguments and result. */
export type FetchFunction = (url: string, options: FetchOptions) => Promise<FetchAnswer>

/** A remote service that sends requests with a fetch function. */
export class FetchClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'FetchClient'

  /** Sends a request with the fetch function. Resolves to its response. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    // Unbound, since `window.fetch` is not a method of this service.
    const fetchFunction = this.connection as FetchFunction
    const answer = await fetchFunction(request.url, {
      redirect: request.redirect,
      ...request.libraryOptions,
      method: request.method,
      headers: { ...request.headers },
      body: request.body ?? null,
      signal: request.signal ?? null,
    })
    return readAnswer(answer, request.responseType)
  }
}

/** Resolves to a response, with its body read unless it is an error. */
export async function readAnswer(answer: FetchAnswer, responseType: ResponseType): Promise<Answer> {
  const { status, headers } = answer
  const body = await readBody(answer, responseType)
  return { status, readHeaders: () => toObject(headers), body }
}

/** The body of an error is a stream, or a string if the fetch function has no streams. */
function readBody(answer: FetchAnswer, responseType: ResponseType): unknown {
  if (!isSuccess(answer.status)) return answer.body ?? answer.text()
  if (responseType === 'stream') return answer.body
  return answer[responseType === 'json' ? 'text' : responseType]()
}

/** Returns the headers of a response as an object. */
export function toObject(headers: FetchAnswer['headers']): Record<string, string> {
  const object: Record<string, string> = {}
  headers.forEach((value, name) => {
    object[name] = value
  })
  return object
}

/** A remote service that sends requests with ofetch. */
export class OfetchClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'OfetchClient'

  /** Sends a request with ofetch. Resolves to its response. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    const { url, method, headers, body, signal, redirect, responseType, libraryOptions } = request
    const answer = await (this.connection as $Fetch).raw(url, {
      redirect,
      ...libraryOptions,
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
      // By default, ofetch repeats a failed GET at once.
      retry: false,
      ignoreResponseError: true,
      // ofetch leaves a stream unchanged; otherwise it returns truncated JSON as a string, and reads an error of any
      // length.
      responseType: 'stream',
    })
    // A hook of ofetch may have replaced the body.
    const { status, _data: data } = answer
    if (data !== undefined && data !== answer.body) {
      return { status, readHeaders: () => toObject(answer.headers), body: toBody(data) }
    }
    return readAnswer(answer, responseType)
  }
}

/** Returns what a hook has replaced a body with: objects and lists as JSON. */
function toBody(data: unknown): unknown {
  return isPlainObject(data) || Array.isArray(data) ? JSON.stringify(data) : data
}
