import { isDeepStrictEqual } from 'node:util'
import { OWN_RECORD, SECRET, toSignedRequest } from './auth-token.ts'
import type { PortName } from './child-answers.ts'
import type { Answer } from './load.ts'
import { toRequest } from './load.ts'
import { BRACKETS } from './rest-brackets.ts'
import type { BenchRecord } from './rest-records.ts'
import { findRecords, getRecord, toNewRecord } from './rest-records.ts'

/** One kind of request: a row of the printed table. */
export interface Column {
  readonly name: string
  /** CPU efficiency against plain Fastify, 1 for as fast: aimed at, and required. Default: for information. */
  readonly target?: number
  readonly least?: number
  readonly request: Buffer
  /** What plain Fastify is sent, where it differs. Default: {@link request}. */
  readonly plainRequest?: Buffer
  /** The port that answers. Default: `records`. */
  readonly port?: PortName
  readonly status: number
  /** The whole answer, `null` for none; where it differs between answers, a check for a parsed body. */
  readonly body: object | null | ((body: unknown) => boolean)
  /** Whether peers have nothing like it. */
  readonly isOwn?: boolean
}

const ID = 'record-0042'
const RECORD = getRecord(ID) ?? {}
const NEW_RECORD = toNewRecord(7)

const BEARER = { request: toSignedRequest(SECRET), status: 200, body: OWN_RECORD ?? {} }

export const COLUMNS: readonly Column[] = [
  {
    name: 'get',
    target: 1.02,
    least: 0.72,
    request: toRequest('GET', `/records/${ID}`),
    status: 200,
    body: RECORD,
  },
  {
    name: 'find of 10',
    target: 1.05,
    least: 0.75,
    request: toRequest('GET', '/records?$limit=10&$skip=0'),
    status: 200,
    body: findRecords({}),
  },
  {
    // Against the fastest parser that reads them.
    name: 'bracket query',
    target: 1.02,
    least: 0.8,
    request: toRequest('GET', `/records?${BRACKETS}`),
    port: 'brackets',
    status: 200,
    body: findRecords({ $skip: 20 }),
  },
  {
    name: 'create',
    target: 0.97,
    least: 0.65,
    request: toRequest('POST', '/records', NEW_RECORD),
    status: 201,
    body: isCreated,
  },
  // A token is verified for each request, and its user looked up in memory and handed to the method. Where there is
  // a cache of verified tokens, it is on.
  { ...BEARER, name: 'bearer', port: 'bearer', target: 0.97, least: 0.75 },
  { ...BEARER, name: 'bearer, no cache', port: 'uncached' },
  {
    // Signed by another secret, and verified each time.
    name: 'bad token 401',
    target: 1.4,
    least: 1,
    port: 'bearer',
    request: toSignedRequest(`not ${SECRET}`),
    status: 401,
    body: isError('NotAuthenticated', 401),
  },
  {
    name: 'unknown path 404',
    target: 1.05,
    least: 0.8,
    request: toRequest('GET', '/no/such/path'),
    status: 404,
    body: isError('NotFound', 404),
  },
  {
    // The service throws, and so does the handler of plain Fastify, for its error handler to answer.
    name: 'unknown id 404',
    target: 1.65,
    least: 1.1,
    request: toRequest('GET', '/records/no-such-id'),
    plainRequest: toRequest('GET', '/thrown/no-such-id'),
    status: 404,
    body: isError('NotFound', 404),
  },
  {
    name: 'get with its tag, 304',
    request: toRequest('GET', `/tagged/${ID}`, undefined, [
      `if-none-match: "v-${getRecord(ID)?.age}"`,
    ]),
    status: 304,
    body: null,
    isOwn: true,
  },
  {
    name: 'get, 5 async hooks',
    least: 0.65,
    request: toRequest('GET', `/hooked/${ID}`),
    plainRequest: toRequest('GET', `/records/${ID}`),
    status: 200,
    body: RECORD,
    isOwn: true,
  },
]

/** @throws {Error} the answer is not the one that the column asks for */
export function checkAnswer(column: Column, server: string, { status, body }: Answer): void {
  const parsed: unknown = body.length === 0 ? null : JSON.parse(body.toString())
  const isExpected =
    typeof column.body === 'function' ? column.body(parsed) : isDeepStrictEqual(parsed, column.body)
  if (status === column.status && isExpected) return
  throw new Error(`'${column.name}' of ${server} answers ${status} ${body}`)
}

function isCreated(body: unknown): boolean {
  const { id, ...record } = body as BenchRecord
  return /^created-\d{4}$/.test(id) && isDeepStrictEqual(record, NEW_RECORD)
}

/** Returns a check for the error of this name, and not another one with its status. */
function isError(name: string, code: number): (body: unknown) => boolean {
  return (body) => {
    const error = body as { readonly name?: unknown; readonly code?: unknown }
    return error.name === name && error.code === code
  }
}
