import { isAuthentication } from '../../auth/default-authentication.ts'
import type { ServiceEntry } from '../../core/index.ts'

/** The response of an operation: a record, all that it has written or found, or any value. */
export type OperationAnswer = 'record' | 'written' | 'found' | 'custom'

/** How one kind of operation differs from the others. */
export type OperationKind = readonly [
  method: string,
  /** The prefix of the operation's id. */
  id: string,
  summary: string,
  answer: OperationAnswer,
  /** The errors in addition to 400, and to 401 after the `authenticate` hook. */
  errors: readonly number[],
]

/** A service with records. */
const RECORD_KINDS: readonly OperationKind[] = [
  ['find', 'find', 'Find records', 'found', []],
  ['get', 'get', 'Get a record', 'record', [404]],
  ['create', 'create', 'Create a record', 'record', [409]],
  ['update', 'update', 'Replace a record', 'record', [404, 409]],
  ['patch', 'patch', 'Change fields of a record', 'record', [404, 409]],
  ['remove', 'remove', 'Remove a record', 'record', [404]],
  ['patch', 'patchMany', 'Change fields of all records that match', 'written', [409]],
  ['remove', 'removeMany', 'Remove all records that match', 'written', []],
]

/** A service with a single record. */
const SINGLETON_KINDS: readonly OperationKind[] = [
  ['find', 'get', 'Get the record', 'record', [404]],
  ['create', 'create', 'Create the record', 'record', [409]],
  ['update', 'update', 'Replace the record', 'record', [404, 409]],
  ['patch', 'patch', 'Change fields of the record', 'record', [404, 409]],
  ['remove', 'remove', 'Remove the record', 'record', [404]],
]

/** An authentication service has no records: a login is created, and the caller's own login ended. */
const LOGIN_KINDS: readonly OperationKind[] = [
  ['create', 'create', 'Log in', 'record', [401]],
  ['remove', 'remove', 'Log out', 'record', []],
]

/** Returns the kinds of operations that a service may have. */
export function listKinds({ service, options }: ServiceEntry): readonly OperationKind[] {
  if (isAuthentication(service)) return LOGIN_KINDS
  return options.singleton ? SINGLETON_KINDS : RECORD_KINDS
}
