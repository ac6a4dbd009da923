import type { StandardMethod } from '../../core/index.ts'
import type { QueryUse } from './query-parameters.ts'

/** How one kind of operation differs from the others. */
export interface OperationKind {
  readonly method: StandardMethod
  /** What the id of the operation begins with. */
  readonly id: string
  readonly summary: string
  readonly on: 'all' | 'one'
  readonly query: QueryUse
  readonly status: number
  /** The errors beside 400, and 401 behind the `authenticate` hook. */
  readonly errors: readonly number[]
  readonly answer: OperationAnswer
}

/** What an operation answers with: a record, all that it has written, or what it has found of them. */
type OperationAnswer = 'record' | 'written' | 'found'

type Row = readonly [
  method: StandardMethod,
  id: string,
  summary: string,
  on: OperationKind['on'],
  query: QueryUse,
  status: number,
  errors: readonly number[],
]

const FIND: readonly Row[] = [['find', 'find', 'Find records', 'all', 'list', 200, []]]

const ONE_RECORD: readonly Row[] = [
  ['get', 'get', 'Get a record', 'one', 'record', 200, [404]],
  ['create', 'create', 'Create a record', 'all', 'new', 201, [409]],
  ['update', 'update', 'Replace a record', 'one', 'record', 200, [404, 409]],
  ['patch', 'patch', 'Change fields of a record', 'one', 'record', 200, [404, 409]],
  ['remove', 'remove', 'Remove a record', 'one', 'record', 200, [404]],
]

const MANY_RECORDS: readonly Row[] = [
  ['patch', 'patchMany', 'Change fields of all records that match', 'all', 'record', 200, [409]],
  ['remove', 'removeMany', 'Remove all records that match', 'all', 'record', 200, []],
]

/** A service that is one record. */
const SINGLETON: readonly Row[] = [
  ['find', 'get', 'Get the record', 'all', 'record', 200, [404]],
  ['create', 'create', 'Create the record', 'all', 'new', 201, [409]],
  ['update', 'update', 'Replace the record', 'all', 'record', 200, [404, 409]],
  ['patch', 'patch', 'Change fields of the record', 'all', 'record', 200, [404, 409]],
  ['remove', 'remove', 'Remove the record', 'all', 'record', 200, [404]],
]

/** An authentication service has no records: a login is made, and the own one ended. */
const LOGINS: readonly Row[] = [
  ['create', 'create', 'Log in', 'all', 'new', 201, [401]],
  ['remove', 'remove', 'Log out', 'all', 'new', 200, []],
]

/** The operations of services with records. */
export const RECORD_KINDS: readonly OperationKind[] = [
  ...FIND.map((row) => toKind(row, 'found')),
  ...ONE_RECORD.map((row) => toKind(row, 'record')),
  ...MANY_RECORDS.map((row) => toKind(row, 'written')),
]

/** The operations of services that are one record. */
export const SINGLETON_KINDS: readonly OperationKind[] = SINGLETON.map((row) =>
  toKind(row, 'record'),
)

/** The operations of authentication services. */
export const LOGIN_KINDS: readonly OperationKind[] = LOGINS.map((row) => toKind(row, 'record'))

function toKind(
  [method, id, summary, on, query, status, errors]: Row,
  answer: OperationAnswer,
): OperationKind {
  return { method, id, summary, on, query, status, errors, answer }
}
