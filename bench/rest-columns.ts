import { isDeepStrictEqual } from 'node:util'
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
}

const ID = 'record-0042'
const RECORD = getRecord(ID) ?? {}
const NEW_RECORD = toNewRecord(7)

const NOT_FOUND = { name: 'NotFound', code: 404, className: 'not-found' }

export const COLUMNS: readonly Column[] = [
  {
    name: 'get',
    target: 0.97,
    least: 0.85,
    request: toRequest('GET', `/records/${ID}`),
    status: 200,
    body: RECORD,
  },
  {
    name: 'find of 10',
    target: 1,
    least: 0.8,
    request: toRequest('GET', '/records?$limit=10&$skip=0'),
    status: 200,
    body: findRecords({}),
  },
  {
    // Against the fastest parser that reads them.
    name: 'bracket query',
    target: 0.95,
    least: 0.8,
    request: toRequest('GET', `/records?${BRACKETS}`),
    port: 'brackets',
    status: 200,
    body: findRecords({ $skip: 20 }),
  },
  {
    // Against the parser that most programs use.
    name: 'bracket query, qs',
    request: toRequest('GET', `/records?${BRACKETS}`),
    port: 'qs',
    status: 200,
    body: findRecords({ $skip: 20 }),
  },
  {
    name: 'create',
    target: 0.95,
    least: 0.85,
    request: toRequest('POST', '/records', NEW_RECORD),
    status: 201,
    body: isCreated,
  },
  {
    name: 'get with its tag, 304',
    target: 0.95,
    least: 0.8,
    request: toRequest('GET', `/tagged/${ID}`, undefined, [
      `if-none-match: "v-${getRecord(ID)?.age}"`,
    ]),
    status: 304,
    body: null,
  },
  {
    // The service throws, and so does the handler of plain Fastify, for its error handler to answer.
    name: 'unknown id 404',
    target: 1.5,
    least: 1.3,
    request: toRequest('GET', '/records/no-such-id'),
    plainRequest: toRequest('GET', '/thrown/no-such-id'),
    status: 404,
    body: { ...NOT_FOUND, message: "No record found for id 'no-such-id'" },
  },
  {
    // The same against a handler that sends the answer without throwing anything.
    name: 'unknown id 404, sent',
    request: toRequest('GET', '/records/no-such-id'),
    status: 404,
    body: { ...NOT_FOUND, message: "No record found for id 'no-such-id'" },
  },
  {
    name: 'unknown path 404',
    target: 0.95,
    least: 0.85,
    request: toRequest('GET', '/no/such/path'),
    status: 404,
    body: { ...NOT_FOUND, message: 'Page not found', data: { url: '/no/such/path' } },
  },
  {
    name: 'get, 5 async hooks',
    target: 0.88,
    least: 0.75,
    request: toRequest('GET', `/hooked/${ID}`),
    plainRequest: toRequest('GET', `/records/${ID}`),
    status: 200,
    body: RECORD,
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
