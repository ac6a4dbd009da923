import type { RequestHeaders } from './requests/request-headers.ts'

/** How the body of a successful answer is read. */
export type ResponseType = 'json' | 'text' | 'arrayBuffer' | 'blob' | 'stream'

/** A request, complete but for the HTTP library that sends it. */
export interface PreparedRequest {
  /** The HTTP method. */
  readonly method: string
  /** The whole URL, or a path for the origin of the page. */
  readonly url: string
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON, `undefined` for no body. */
  readonly body: string | undefined
  /** Aborts when the caller gives up, or the time is up. */
  readonly signal: AbortSignal | undefined
  /**
   * The longest time for the answer, in milliseconds, `Infinity` for no limit. The signal aborts then;
   * a limit of the library's own should not be shorter.
   */
  readonly timeoutMs: number
  /**
   * What to do where the server redirects. A write is not to follow: on the way it would become a
   * `GET`, and a record that is created be searched.
   */
  readonly redirect: 'follow' | 'manual'
  /**
   * Whether a redirect must not be followed, whatever options of the library say: a token is in a
   * header that libraries send to other origins as well.
   */
  readonly isBound: boolean
  /** What the body of a successful answer is wanted as. */
  readonly responseType: ResponseType
  /** Further options of the call, which the library knows. */
  readonly libraryOptions: Readonly<Record<string, unknown>>
}

/** What came back for a request, before anything is made of it. */
export interface Answer {
  /** The HTTP status; 0 for a redirect that a browser does not show. */
  readonly status: number
  /** Returns the headers with lower-case names: only errors have them. */
  readHeaders(): Readonly<Record<string, string>>
  /**
   * The body: a string for the types `json` and `text`, unless the answer is no success: of that it
   * may be bytes or a stream as well.
   */
  readonly body: unknown
}

/** `params.connection` of a call; names that are not here go to the HTTP library as they are. */
export interface ConnectionParams {
  /** Headers that win over all others. */
  readonly headers?: RequestHeaders | undefined
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Longest time for the answer, in milliseconds; `Infinity` for no limit. */
  readonly timeoutMs?: number | undefined
  /**
   * How many times a `find` or `get` is sent again, while there is no connection or the server answers
   * 429, 502, 503 or 504: when its `Retry-After` says, or after a quarter of a second, a half, and so
   * on. The time limit holds for all of it. Writes are never sent again. Default: that of the connection.
   */
  readonly retries?: number | undefined
  /** How the body of a successful answer is read. Default: `'json'`. */
  readonly responseType?: ResponseType | undefined
  /** Options of the HTTP library: `credentials` of fetch. */
  readonly [option: string]: unknown
}

/** Options that all calls of a connection share. */
export interface ConnectionOptions {
  /** Headers of every request; those of a call win. Default: `accept: application/json`. */
  readonly headers?: RequestHeaders | undefined
  /** Longest time for an answer, in milliseconds; `Infinity` for no limit. Default: 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How many times a `find` or `get` is sent again, while there is no connection or the server answers
   * 429, 502, 503 or 504: when its `Retry-After` says, or after a quarter of a second, a half, and so
   * on. The time limit holds for all of it. Writes are never sent again. Default: 0.
   */
  readonly retries?: number | undefined
  /**
   * The longest list in a query that the server reads as a list wherever it stands, as its
   * `rest({ query: { arrayLimit } })`. A longer one is refused where the server would not know that a
   * list is meant. Default: 20.
   */
  readonly arrayLimit?: number | undefined
  /** Options of the HTTP library for every request: `{ credentials: 'include' }`. Default: `{}`. */
  readonly connection?: Readonly<Record<string, unknown>> | undefined
}
