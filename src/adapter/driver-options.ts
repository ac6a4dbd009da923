import type {
  BulkWriteOptions,
  CollationOptions,
  FindOneAndUpdateOptions,
  FindOptions,
  Hint,
} from 'mongodb'

import { suggestName } from '../core/name-suggestion.ts'

type WriteOption = 'arrayFilters' | 'bypassDocumentValidation' | 'upsert' | 'writeConcern'

/** Options of the driver that `params.docdb` passes to every command of a call. */
export interface DriverOptions
  extends Omit<FindOptions, 'explain' | 'hint' | 'limit' | 'raw' | 'skip' | 'timeoutMS'>,
    Pick<FindOneAndUpdateOptions, WriteOption>,
    Pick<BulkWriteOptions, 'ordered'> {
  /** The index to use: its name, or its keys. */
  hint?: Hint
  /** Calls a read off; it is followed in the place of `params.signal`. */
  signal?: AbortSignal
}

/** The params that reach the driver. */
export interface DriverParams {
  /** Options for the driver, in each command of this call: `session`, `hint`, `upsert`, … */
  docdb?: DriverOptions | undefined
  /** Another name for {@link docdb}. */
  mongodb?: DriverOptions | undefined
  /** How strings are compared and sorted in this call; `create` compares none. */
  collation?: CollationOptions | undefined
}

/** Options of every command. */
const EVERYWHERE = [
  ...['session', 'comment', 'maxTimeMS'],
  ...['readPreference', 'readConcern', 'writeConcern'],
  ...['ignoreUndefined', 'serializeFunctions', 'checkKeys', 'enableUtf8Validation'],
  ...['bsonRegExp', 'promoteBuffers', 'promoteLongs', 'promoteValues', 'useBigInt64'],
]
const READING = [
  ...[
    'collation',
    'hint',
    'let',
    'projection',
    'sort',
    'batchSize',
    'allowDiskUse',
    'allowPartialResults',
  ],
  ...['max', 'min', 'noCursorTimeout', 'returnKey', 'showRecordId', 'singleBatch'],
]
const CHANGING = [
  ...['bypassDocumentValidation', 'collation', 'hint', 'let', 'projection', 'sort', 'upsert'],
]

/** What a call does at the server, told apart by the options that its commands take. */
export type Operation =
  | ('read' | 'cursor' | 'create' | 'update' | 'patch' | 'remove')
  | ('patch of many' | 'remove of many')

/** The options that a command of each operation takes; the driver would ignore any other. */
const OPTIONS_BY_OPERATION: Readonly<Record<Operation, ReadonlySet<string>>> = {
  read: new Set([...EVERYWHERE, ...READING, 'signal']),
  cursor: new Set([...EVERYWHERE, ...READING, 'signal']),
  create: new Set([...EVERYWHERE, 'bypassDocumentValidation', 'ordered']),
  update: new Set([...EVERYWHERE, ...CHANGING]),
  patch: new Set([...EVERYWHERE, ...CHANGING, 'arrayFilters']),
  remove: new Set([...EVERYWHERE, 'collation', 'hint', 'let', 'projection', 'sort']),
  'patch of many': new Set([
    ...[...EVERYWHERE, ...READING],
    ...['arrayFilters', 'bypassDocumentValidation'],
  ]),
  'remove of many': new Set([...EVERYWHERE, ...READING]),
}

/**
 * Returns a new object for the driver, which writes into the options it gets.
 * @throws {TypeError} an option that no command of the operation takes; names it
 */
export function toDriverOptions(params: DriverParams, operation: Operation): DriverOptions {
  const { collation, docdb, mongodb } = params
  if (docdb !== undefined && mongodb !== undefined) {
    throw new TypeError('params.docdb and params.mongodb are the same: one of them would be lost')
  }
  const given = docdb ?? mongodb
  if (given !== undefined) checkDriverOptions(given, operation)
  // A hook sets the collation for all methods, and new records are compared with nothing: the server
  // would refuse it.
  const isCompared = collation !== undefined && operation !== 'create'
  return { ...(isCompared ? { collation } : {}), ...given }
}

function checkDriverOptions(options: DriverOptions, operation: Operation): void {
  const known = OPTIONS_BY_OPERATION[operation]
  for (const [name, value] of Object.entries(options)) {
    if (known.has(name) || value === undefined) continue
    throw new TypeError(
      `The option params.docdb.${name} is not one for ${operation}${suggestName(name, known)}`,
    )
  }
}

/**
 * Returns options for a command that writes. `undefined` in data is left out, as it is on the way
 * over HTTP. The type is that of the strictest command: a `hint` by index name is fine for all.
 */
export function toWriteOptions(driver: DriverOptions): FindOneAndUpdateOptions {
  return { ignoreUndefined: true, ...driver } as FindOneAndUpdateOptions
}
