import { isAuthentication } from '../../auth/default-authentication.ts'
import type { ServiceEntry } from '../../core/index.ts'

/** What an operation answers with: a record, all it has written or found of them, or what it likes. */
export type OperationAnswer = 'record' | 'written' | 'found' | 'custom'

/** How one kind of operation differs from the others. */
export type OperationKind = readonly [
  method: string,
  /** What the id of the operation begins with. */
  id: string,
  summary: string,
  answer: OperationAnswer,
  /** The errors beside 400, and 401 behind the `authenticate` hook. */
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

/** A service that is one record. */
const SINGLETON_KINDS: readonly OperationKind[] = [
  ['find', 'get', 'Get the record', 'record', [404]],
  ['create', 'create', 'Create the record', 'record', [409]],
  ['update', 'update', 'Replace the record', 'record', [404, 409]],
  ['patch', 'patch', 'Change fields of the record', 'record', [404, 409]],
  ['remove', 'remove', 'Remove the record', 'record', [404]],
]

/** An authentication service has no records: a login is made, and the own one ended. */
const LOGIN_KINDS: readonly OperationKind[] = [
  ['create', 'create', 'Log in', 'record', [401]],
  ['remove', 'remove', 'Log out', 'record', []],
]

/** Returns the kinds of operations that a service may have, by what it is. */
export function listKinds({ service, options }: ServiceEntry): readonly OperationKind[] {
  if (isAuthentication(service)) return LOGIN_KINDS
  return options.singleton ? SINGLETON_KINDS : RECORD_KINDS
}
