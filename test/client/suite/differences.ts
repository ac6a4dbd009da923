import { CREDENTIALS } from '../../support/users.ts'
import { OFFICIAL_CLIENTS as OFFICIAL, OUR_CLIENTS, SOCKET_CLIENT } from './clients.ts'
import type { Expectations, Expected } from './expectations.ts'
import { COMMON, NOT_FOUND, REFUSED } from './expectations.ts'
import type { ServerName } from './servers.ts'

/** What some servers or clients do in another way. */
interface Difference {
  /** Default: all. */
  readonly servers?: readonly ServerName[]
  /** Default: all. */
  readonly clients?: readonly string[]
  readonly reason: string
  readonly instead: Partial<Expectations>
}

const FEATHERS = ['Feathers on Express'] as const

/** What becomes of values that are put into a URL as they are. */
const MANGLED: Readonly<Record<string, Expected>> = {
  'a/b c': NOT_FOUND,
  '?a=b&c#d': NOT_FOUND,
  '%2F': { result: '/' },
  '$&': { result: ':userId' },
}

const OVER_SOCKETS = [SOCKET_CLIENT] as const

/** What becomes of values that are put into the path of a message. */
const MANGLED_IN_PATH: Readonly<Record<string, Expected>> = {
  'a/b c': NOT_FOUND,
  '$&': { result: ':userId' },
}

/** Of several rows with the same expectation, the last one counts. */
export const DIFFERENCES: readonly Difference[] = [
  {
    servers: FEATHERS,
    reason: 'it hands on the segments of a path as they are in the URL',
    instead: { readSegment: decodeURIComponent },
  },
  {
    servers: FEATHERS,
    reason:
      'it answers 204 for every result that is false in a condition, so that the value is lost',
    instead: { falseResult: (_returned, nothing) => nothing },
  },
  {
    servers: FEATHERS,
    reason: 'it takes a method without a result for no service at all',
    instead: { noResult: () => NOT_FOUND },
  },
  {
    clients: OFFICIAL,
    reason: 'it puts values of placeholders into the URL as patterns, without encoding',
    instead: {
      routeValue: (value) => MANGLED[value] ?? { result: value },
      similarPlaceholders: { result: { route: { userId: 'xId', user: ':user' } } },
      missingRouteValue: { result: { route: { userId: ':userId' } } },
    },
  },
  {
    clients: OFFICIAL,
    reason: 'it takes a get of null for a find',
    instead: { getOfNull: { result: { method: 'find' } } },
  },
  {
    clients: OFFICIAL,
    reason: 'it leaves out of the query what has no values, and sends null as an empty string',
    instead: {
      lostCondition: () => ({ result: { query: {} } }),
      emptyLists: {},
      foundInNothing: { result: 2 },
      nullInQuery: { result: { query: { a: '' } } },
    },
  },
  {
    servers: FEATHERS,
    clients: OUR_CLIENTS,
    reason: 'it knows no form of an empty list, and its adapters refuse the name in it',
    instead: {
      emptyLists: { a: { $empty: '' }, b: { $in: { $empty: '' } } },
      foundInNothing: REFUSED,
    },
  },
  {
    clients: OFFICIAL,
    reason: 'it names JSON as the type of what it sends even if that is nothing',
    instead: {
      createOfNothing: { result: { data: {}, headers: { 'content-type': 'application/json' } } },
    },
  },
  {
    clients: OFFICIAL,
    reason: 'without an application, it needs params in each call',
    instead: { callWithoutParams: { error: { name: 'TypeError' } } },
  },
  {
    clients: OFFICIAL,
    reason: 'it puts a slash between base and path, whatever the base ends with',
    instead: { slashAfterBase: NOT_FOUND },
  },
  {
    servers: FEATHERS,
    clients: OFFICIAL,
    reason: 'the server takes two slashes at the beginning for one',
    instead: { slashAfterBase: { result: { sent: { url: '//echo' } } } },
  },
  {
    clients: ['official fetch'],
    reason: 'it joins the values of headers whose names differ in case',
    instead: { ofTwoCases: 'of all calls, of the call' },
  },
  {
    clients: ['official fetch', 'official axios'],
    reason: 'headers of params.connection take the place of all others of the call',
    instead: {
      headersOfConnection: {
        ...{ 'x-params': undefined, 'x-connection': 'b', 'x-both': 'of connection' },
      },
    },
  },
  {
    clients: ['official fetch'],
    reason: 'the type of the body is one of those headers, and our own server takes no plain text',
    instead: { dataBesideConnection: { error: { name: 'UnsupportedMediaType', code: 415 } } },
  },
  {
    servers: FEATHERS,
    clients: ['official fetch'],
    reason: 'the same, and this server takes what is no JSON for an empty object',
    instead: { dataBesideConnection: { result: { data: {} } } },
  },
  {
    clients: ['official fetch'],
    reason: 'it makes plain errors of what is thrown to it, and reads every body as JSON',
    instead: {
      odd: {
        empty: { error: { name: 'Error', message: /JSON/ } },
        text: { error: { name: 'Error', message: /JSON/ } },
        part: { error: { name: 'Error', message: /JSON/ } },
        'unknown-name': { error: { name: 'OutOfTea', message: 'no tea', code: 400 } },
        page: { error: { name: 'BadGateway', message: 'JSON parsing error', code: 502 } },
        teapot: { error: { name: 'Error', message: 'JSON parsing error' } },
      },
      refusedConnection: () => ({ name: 'Error', message: 'fetch failed' }),
      abort: { error: { name: 'Error', message: /abort/ } },
    },
  },
  {
    clients: ['official axios'],
    reason: 'what it makes of an answer is what axios does, which has no error for a lack of JSON',
    instead: {
      nothing: '',
      odd: {
        empty: { result: '' },
        text: { result: 'hello' },
        part: { result: '{"a":' },
        'unknown-name': { error: { name: 'OutOfTea', message: 'no tea', code: 400 } },
        page: { error: { name: 'Error', message: '<title>Bad Gateway</title>' } },
        teapot: { error: { name: 'Error', message: 'short and stout' } },
      },
      statusOfError: undefined,
      refusedConnection: () => ({ name: 'Unavailable', code: 503, message: /ECONNREFUSED/ }),
      abort: { error: { name: 'CanceledError' } },
    },
  },
  {
    clients: ['official superagent'],
    reason: 'what it makes of an answer is what superagent does, for which no body is an object',
    instead: {
      nothing: {},
      odd: {
        empty: { result: '' },
        text: { result: {} },
        part: { error: { name: 'Error', message: /JSON/ } },
        'unknown-name': { error: { name: 'OutOfTea', message: 'no tea', code: 400 } },
        page: { error: { name: 'Error', message: 'Bad Gateway' } },
        teapot: { error: { name: 'Error', message: "I'm a Teapot" } },
      },
      refusedConnection: (port) => ({
        ...{
          name: 'Unavailable',
          code: 503,
          data: { code: undefined, address: '127.0.0.1', port },
        },
      }),
    },
  },
  {
    clients: ['official superagent'],
    reason: 'it sends the type of a body without a body, and its own Accept',
    instead: { typeOfNoBody: 'application/json', acceptOfOptions: 'application/json' },
  },
  {
    clients: ['official superagent'],
    reason: 'it takes params.connection for headers, so that signals have no effect',
    instead: {
      headersOfConnection: { 'x-params': 'a', 'x-connection': undefined, 'x-both': 'of params' },
      abort: { result: [{ text: 'some todo' }] },
    },
  },
  {
    clients: OFFICIAL,
    reason: 'it adds the result of the login to the params of each call',
    instead: { userInHooks: CREDENTIALS.email },
  },
  {
    servers: FEATHERS,
    clients: OUR_CLIENTS,
    reason: 'the server answers 404 for a user that is gone; our client ends a login for 401 alone',
    instead: { staysLoggedInAsNobody: true },
  },
  {
    clients: ['superagent'],
    reason: 'superagent has no answers as streams',
    instead: { stream: () => REFUSED },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'a message of a socket is no request',
    instead: {
      provider: 'socketio',
      request: () => ({ sent: undefined }),
      slashAfterBase: { result: { method: 'find', sent: undefined } },
    },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'what is sent is JSON: it keeps its types, and only what is undefined is lost',
    instead: {
      readId: (id) => id,
      queryValues: [1.5, true, false, '1970-01-01T00:00:00.000Z'],
      lostCondition: (query) => ({ result: { query: JSON.parse(JSON.stringify(query)) } }),
      nullInQuery: { result: { query: { a: null } } },
    },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'the client puts values of placeholders into the path as patterns',
    instead: {
      routeValue: (value) => MANGLED_IN_PATH[value] ?? { result: value },
      similarPlaceholders: { result: { route: { userId: 'xId', user: ':user' } } },
      missingRouteValue: { result: { route: { userId: ':userId' } } },
    },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'no data arrives as null, which a create does not take',
    instead: { createOfNothing: REFUSED },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'an error has no response, and a call no signal',
    instead: { statusOfError: undefined, abort: { result: [{ text: 'some todo' }] } },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'it adds the result of the login to the params of each call',
    instead: { userInHooks: CREDENTIALS.email },
  },
  {
    clients: OVER_SOCKETS,
    reason: 'the login is that of the socket, which another one replaces only when it succeeds',
    instead: { staysAfterFailedLogin: true },
  },
]

/** Returns what is expected of a client with a server. */
export function expectationsOf(server: ServerName, client: string): Expectations {
  const rows = DIFFERENCES.filter(
    ({ servers = [server], clients = [client] }) =>
      servers.includes(server) && clients.includes(client),
  )
  return Object.assign({}, COMMON, ...rows.map(({ instead }) => instead))
}
