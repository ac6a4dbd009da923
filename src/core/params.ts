import type { FeatureParams } from './core-features.ts'
import type { DeclaredUser } from './declared-types.ts'

/** Identifies one record: a string over HTTP, never coerced to a number. */
export type Id = string | number

/** An id that is an object: the `ObjectId` of MongoDB. */
export interface IdObject {
  /** Returns the 24 hexadecimal digits that stand for it over HTTP. */
  toHexString(): string
}

/**
 * A record in the place of its id. Clients take it, for a write that is meant for the version which the
 * record has.
 */
export type IdentifiedRecord =
  | {
      /** The id, of most services. */
      readonly _id: Id | IdObject
    }
  | {
      /** The id, of others. */
      readonly id: Id | IdObject
    }

/** What stands for one record of a server: its id, or the record itself. Hooks always see the id. */
export type RecordId = Id | IdObject | IdentifiedRecord

/** `null` addresses many records at once, in `update`, `patch` and `remove`. */
export type NullableId = Id | null

/** A parsed query; over HTTP every leaf is a string. */
export type Query = Record<string, unknown>

/** Request headers with lower-case names, as Node gives them. */
export type Headers = Record<string, string | string[] | undefined>

/** What was proven about a caller: the claims of an access token, or what is known of an API key. */
export interface AuthenticationPayload {
  /** The id of the user as a string. */
  readonly sub?: string
  /** What the caller may do: of an API key always a list, of an access token a claim of your own. */
  readonly scopes?: readonly string[]
  readonly [claim: string]: unknown
}

/**
 * What a strategy reads to authenticate a call: `{ strategy, accessToken }` from a bearer token.
 */
export interface AuthenticationRequest {
  /** The name of the strategy that is to authenticate the call. */
  strategy?: string | undefined
  /** What the hook `authenticate` has found out; of a request that is not proven yet nothing. */
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
  /** What the call is to be authenticated by, or has been. */
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
  /** Aborts when the caller of an external call goes away. Never hand it to a write. */
  signal?: AbortSignal | undefined
  /** Network address of the caller outside, for throttling and the log. */
  address?: string | undefined
  /** The URL that the caller outside has reached, with its query: behind a proxy, that of the proxy. */
  requestUrl?: string | undefined
  /** The HTTP method of an external call: `'HEAD'` calls what `'GET'` does. */
  requestMethod?: string | undefined
  /** Id of the HTTP request, as it stands in the log. */
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
   * What `$after` takes for the records behind this page, `null` where `hasNext` is `false`. Pages that
   * `$after`, `$before` or `$total` asks for have cursors; they have no `skip`, and a `total` where `$total`
   * asks for one.
   */
  nextCursor?: string | null
  /** What `$before` takes for the records in front of this page, `null` where `hasPrevious` is `false`. */
  previousCursor?: string | null
  /** Whether there are records behind this page; pages that `$before` asks for do not know it. */
  hasNext?: boolean
  /** Whether there are records in front of this page; only pages that `$before` asks for know it. */
  hasPrevious?: boolean
  /** Whether more records match than `total` says, where `$total` has a `cap`. */
  isTotalCapped?: boolean
}

/** The name of {@link Page} in Feathers. */
export type Paginated<T> = Page<T>
