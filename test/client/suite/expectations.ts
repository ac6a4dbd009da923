/** How a call is expected to end, as far as it matters. */
export type Expected = { readonly result: unknown } | { readonly error: object }

type OddAnswer = 'empty' | 'text' | 'part' | 'unknown-name' | 'page' | 'teapot'

/** What the suite expects where not all servers and clients do the same. */
export interface Expectations {
  /** `params.provider` of a call. */
  readonly provider: string
  /** Returns what the server sees of a request, from what that is over HTTP. */
  readonly request: (overHttp: object) => object
  /** Returns an id as it arrives. */
  readonly readId: (id: number) => unknown
  /** Returns the value of a segment of a path, from what the service got. */
  readonly readSegment: (arrived: string) => string
  /** A call whose path has this value in the place of a placeholder. */
  readonly routeValue: (value: string) => Expected
  /** A call by a path with `:userId` and `:user`, for `y` and `x`. */
  readonly similarPlaceholders: Expected
  /** A call that lacks the value of a placeholder. */
  readonly missingRouteValue: Expected
  /** `get(null)`. */
  readonly getOfNull: Expected
  /** What arrives of a number, `true`, `false` and a date. */
  readonly queryValues: readonly unknown[]
  /** A call with a condition that is `undefined`, or an empty object. */
  readonly lostCondition: (query: object) => Expected
  /** What arrives of `{ a: [], b: { $in: [] } }`. */
  readonly emptyLists: object
  /** A `find` with an empty `$in`, as its number of records. */
  readonly foundInNothing: Expected
  /** A call with a condition that is `null`. */
  readonly nullInQuery: Expected
  /** The content type of a `GET` or `DELETE`. */
  readonly typeOfNoBody: string | undefined
  /** A `create` of `undefined`. */
  readonly createOfNothing: Expected
  /** The header `Accept` where options of the connection ask for JSON of less weight. */
  readonly acceptOfOptions: string
  /** The header `authorization` of a connection and of a call, with names that differ in case. */
  readonly ofTwoCases: string
  /** The headers of a call that has some in its params and others in `params.connection`. */
  readonly headersOfConnection: object
  /** A `create` with headers in `params.connection`. */
  readonly dataBesideConnection: Expected
  /** The result that stands for an answer without a body. */
  readonly nothing: unknown
  /** A call of a method that returns nothing, by what stands for no body. */
  readonly noResult: (nothing: unknown) => Expected
  /** Returns the result of a method that returns `0`, `false` or `''`. */
  readonly falseResult: (returned: unknown, nothing: unknown) => unknown
  /** Calls that no service answers. */
  readonly odd: Readonly<Record<OddAnswer, Expected>>
  /** The status that an error of 406 has in its `response`. */
  readonly statusOfError: number | undefined
  /** The error of a call to a port that nobody listens at. */
  readonly refusedConnection: (port: number) => object
  /** A call whose signal has aborted. */
  readonly abort: Expected
  /** A call without params, of a service without an application. */
  readonly callWithoutParams: Expected
  /** A call below a base URL that ends with a slash. */
  readonly slashAfterBase: Expected
  /** What hooks of the client find as `params.user.email` of somebody who is logged in. */
  readonly userInHooks: string | undefined
  /** Whether calls go on as the user who was there when a login has failed. */
  readonly staysAfterFailedLogin: boolean
  /** Whether a login goes on whose user is gone. */
  readonly staysLoggedInAsNobody: boolean
  /** A call that asks for a stream of this content. */
  readonly stream: (content: string) => Expected
}

export const REFUSED: Expected = { error: { name: 'BadRequest', code: 400 } }
export const NOT_FOUND: Expected = { error: { name: 'NotFound', code: 404 } }
const NO_JSON = 'The server answered 200 with a body that is not JSON'

/** What holds for every client with every server, unless `DIFFERENCES` say otherwise. */
export const COMMON: Expectations = {
  provider: 'rest',
  request: (overHttp) => overHttp,
  readId: String,
  readSegment: (arrived) => arrived,
  routeValue: (value) => ({ result: value }),
  similarPlaceholders: { result: { route: { user: 'x', userId: 'y' } } },
  missingRouteValue: REFUSED,
  getOfNull: REFUSED,
  queryValues: ['1.5', 'true', 'false', '1970-01-01T00:00:00.000Z'],
  lostCondition: () => REFUSED,
  emptyLists: { a: [], b: { $in: [] } },
  foundInNothing: { result: 0 },
  nullInQuery: REFUSED,
  typeOfNoBody: undefined,
  createOfNothing: { result: { data: {}, headers: { 'content-type': undefined } } },
  acceptOfOptions: 'application/json;q=0.9',
  ofTwoCases: 'of the call',
  headersOfConnection: { 'x-params': 'a', 'x-connection': 'b', 'x-both': 'of connection' },
  dataBesideConnection: { result: { data: { a: 1 } } },
  nothing: null,
  noResult: (nothing) => ({ result: nothing }),
  falseResult: (returned) => returned,
  odd: {
    empty: { result: null },
    text: { error: { name: 'GeneralError', message: NO_JSON } },
    part: { error: { name: 'GeneralError', message: NO_JSON } },
    'unknown-name': { error: { name: 'OutOfTea', message: 'no tea', code: 400 } },
    page: { error: { name: 'BadGateway', message: /answered 502 with text\/html/, code: 502 } },
    teapot: { error: { message: /answered 418 with text\/plain/, code: 418 } },
  },
  statusOfError: 406,
  refusedConnection: (port) => ({
    ...{ name: 'Unavailable', code: 503 },
    data: { code: 'ECONNREFUSED', address: '127.0.0.1', port },
  }),
  abort: { error: { name: 'AbortError' } },
  callWithoutParams: { result: { id: '1' } },
  slashAfterBase: { result: { sent: { url: '/echo' } } },
  userInHooks: undefined,
  staysAfterFailedLogin: false,
  staysLoggedInAsNobody: false,
  stream: (content) => ({ result: content }),
}
