import { isSuccess } from '../answers/error-body.ts'
import type { Answer, PreparedRequest, ResponseType } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'

/** What is read of the answers of a fetch function. */
export interface FetchAnswer {
  /** The HTTP status. */
  readonly status: number
  /** The headers, by pairs of name and value. */
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

/** What fetch functions are called with. */
export interface FetchOptions {
  /** The HTTP method. */
  readonly method: string
  /** The headers. */
  readonly headers: Record<string, string>
  /** JSON, or nothing. */
  readonly body: string | null
  /** Aborts the request. */
  readonly signal: AbortSignal | null
  /** What to do where the server redirects. */
  readonly redirect: 'follow' | 'manual'
}

/** `fetch` of the platform, or a function with the same arguments and answers. */
export type FetchFunction = (url: string, options: FetchOptions) => Promise<FetchAnswer>

const READERS: Readonly<Record<ResponseType, (answer: FetchAnswer) => unknown>> = {
  json: (answer) => answer.text(),
  text: (answer) => answer.text(),
  arrayBuffer: (answer) => answer.arrayBuffer(),
  blob: (answer) => answer.blob(),
  stream: (answer) => answer.body,
}

/** A remote service that is called by a fetch function. */
export class FetchClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'FetchClient'

  /** Sends a request by the fetch function. Resolves to its answer. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    // Unbound, since `window.fetch` is no method of this service.
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

/** Resolves to an answer, whose body is read unless it is that of an error. */
export async function readAnswer(answer: FetchAnswer, responseType: ResponseType): Promise<Answer> {
  const { status } = answer
  const read = isSuccess(status) ? READERS[responseType] : toErrorBody
  return { status, readHeaders: () => toObject(answer.headers), body: await read(answer) }
}

/** Returns the body of an error as a stream, or as a string of a fetch function without streams. */
function toErrorBody(answer: FetchAnswer): unknown {
  return answer.body ?? answer.text()
}

/** Returns the headers of an answer as an object. */
export function toObject(headers: FetchAnswer['headers']): Record<string, string> {
  const object: Record<string, string> = {}
  headers.forEach((value, name) => {
    object[name] = value
  })
  return object
}
