import type { FeatureParams } from './core-features.ts'
import type { DeclaredUser } from './declared-types.ts'

/** Identifies one record: a string over HTTP, never coerced to a number. */
export type Id = string | number

/** An id that is an object: the `ObjectId` of MongoDB. */
export interface IdObject {
  /** Returns its 24 hexadecimal digits, as sent over HTTP. */
  toHexString(): string
}

/** A record in place of its id. Clients accept it, for a write that requires the version of the record. */
export type IdentifiedRecord =
  | {
      /** The id in most services. */
      readonly _id: Id | IdObject
    }
  | {
      /** The id in other services. */
      readonly id: Id | IdObject
    }

/** Identifies one record of a server: its id, or the record itself. Hooks always see the id. */
export type RecordId = Id | IdObject | IdentifiedRecord

/** `null` addresses many records at once, in `update`, `patch` and `remove`. */
export type NullableId = Id | null

/** A parsed query; over HTTP every leaf is a string. */
export type Query = Record<string, unknown>

/** Request headers with lower-case names, as Node gives them. */
export type Headers = Record<string, string | string[] | undefined>

/** What was proven about a caller: the claims of an access token, or the facts about an API key. */
export interface AuthenticationPayload {
  /** The id of the user as a string. */
  readonly sub?: string
  /** What the caller may do: always a list for an API key, a custom claim for an access token. */
  readonly scopes?: readonly string[]
  readonly [claim: string]: unknown
}

/**
 * What a strategy reads to authenticate a call: `{ strategy, accessToken }` from a bearer token.
 */
export interface AuthenticationRequest {
  /** The name of the strategy that should authenticate the call. */
  strategy?: string | undefined
  /** What the hook `authenticate` has proven; nothing before. */
  payload?: AuthenticationPayload | undefined
  [key: string]: unknown
}

/** The last argument of every service method. Extend it for what your hooks add. */
export interface Params<Q = Query> extends FeatureParams {
  /** The query: over HTTP the parsed query string. */
  query?: Q | undefined
  /** Name of the transport (`'rest'`) of an external call, `undefined` for an internal one. */
  provider?: string | undefined
  /** The headers of the request, of an external call. */
  headers?: Headers | undefined
  /** Values of the placeholders in the service path, percent-decoded. */
  route?: Readonly<Record<string, string>> | undefined
  /** How the call should be authenticated, or was. */
  authentication?: AuthenticationRequest | undefined
  /**
   * Set by the `authenticate` hook: the user behind the call. Its type is `unknown` until the
   * application declares it in `DeclaredTypes`.
   */
  user?: DeclaredUser | undefined
  /** Claims to put into an access token. */
  payload?: Record<string, unknown> | undefined
  /** The connection of a real-time transport; in clients: options for the HTTP library. */
  connection?: unknown
  /** Aborts when the caller of an external call goes away. Never pass it to a write. */
  signal?: AbortSignal | undefined
  /** Network address of the external caller, for throttling and the log. */
  address?: string | undefined
  /** The URL that the external caller requested, with its query: behind a proxy, that of the proxy. */
  requestUrl?: string | undefined
  /** The HTTP method of an external call: `'HEAD'` calls the same method as `'GET'`. */
  requestMethod?: string | undefined
  /** Id of the HTTP request, as in the log. */
  requestId?: string | undefined
}

/** One page of records: what `find` returns when pagination is on. */
export interface Page<T> {
  /** How many records match the query, over all pages. */
  total: number
  /** The page size that was used. */
  limit: number
  /** How many matching records come before this page. */
  skip: number
  /** The records of this page. */
  data: T[]
  /**
   * The value of `$after` for the records after this page, `null` if `hasNext` is `false`. Pages requested by
   * `$after`, `$before` or `$total` have cursors; they have no `skip`, and only have a `total` if `$total`
   * asks for it.
   */
  nextCursor?: string | null
  /** The value of `$before` for the records before this page, `null` if `hasPrevious` is `false`. */
  previousCursor?: string | null
  /** Whether there are records after this page; unknown for pages requested by `$before`. */
  hasNext?: boolean
  /** Whether there are records before this page; only known for pages requested by `$before`. */
  hasPrevious?: boolean
  /** Whether more records match than `total` says, if `$total` has a `cap`. */
  isTotalCapped?: boolean
}

/** The name of {@link Page} in Feathers. */
export type Paginated<T> = Page<T>
