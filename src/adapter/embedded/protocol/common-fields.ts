import type { Document } from 'bson'
import { Long } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { readFields } from './read-fields.ts'

/** The fields that every command may have. */
export const COMMON_FIELDS = {
  $db: 'string',
  $clusterTime: 'object',
  $readPreference: 'object',
  lsid: 'object',
  txnNumber: 'any',
  autocommit: 'bool',
  startTransaction: 'bool',
  readConcern: 'object',
  writeConcern: 'object',
  maxTimeMS: 'number',
  comment: 'any',
  apiVersion: 'string',
  apiStrict: 'refused',
  apiDeprecationErrors: 'bool',
} as const

const LEVELS = ['local', 'available', 'majority', 'linearizable', 'snapshot']

/** The concerns change nothing on a server of one member that keeps all in memory. */
const READ_CONCERN = { level: 'string', afterClusterTime: 'any', provenance: 'string' } as const
const WRITE_CONCERN = {
  w: 'any',
  j: 'bool',
  fsync: 'bool',
  wtimeout: 'number',
  provenance: 'string',
} as const

/** @throws {CommandError} a field that every command may have is not valid */
export function checkCommonFields(command: Document): void {
  const { apiVersion, maxTimeMS: limit, readConcern, writeConcern } = command
  if (apiVersion !== undefined && apiVersion !== '1') {
    throw new CommandError(322, `Provided apiVersion '${apiVersion}' is not '1'`)
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0 && limit < 2 ** 31)) {
    throw new CommandError(2, `${limit} is out of range for maxTimeMS`)
  }
  const { level } = readFields('readConcern', readConcern ?? {}, READ_CONCERN, { unknown: 72 })
  if (level !== undefined && !LEVELS.includes(level)) {
    throw new CommandError(9, `'readConcern.level' must be one of ${LEVELS.join(', ')}`)
  }
  const { w } = readFields('writeConcern', writeConcern ?? {}, WRITE_CONCERN, { unknown: 9 })
  const isCount = typeof w === 'number' && Number.isInteger(w) && w >= 0 && w <= 50
  if (typeof w === 'string' && w !== 'majority') {
    throw new CommandError(79, `No write concern mode named '${w}' found`)
  }
  if (w !== undefined && w !== 'majority' && !isCount) {
    throw new CommandError(9, 'w has to be a number of at most 50, or a string')
  }
}

/** What a command says of its session: the number of a write, or its place in a transaction. */
export interface Numbering {
  readonly txnNumber: number | undefined
  readonly isTransaction: boolean
  readonly starts: boolean
}

/** Returns the numbering of a command. @throws {CommandError} its fields do not fit together */
export function readNumbering(command: Document): Numbering {
  const { lsid, txnNumber: given, autocommit, startTransaction } = command
  const number = given instanceof Long ? Number(given) : given
  if (given !== undefined && !(Number.isSafeInteger(number) && number >= 0)) {
    throw new CommandError(14, "'txnNumber' must be a whole number of at least 0")
  }
  const wrong =
    (given !== undefined && lsid === undefined && "'txnNumber' needs 'lsid'") ||
    (autocommit !== undefined && given === undefined && "'autocommit' needs 'txnNumber'") ||
    (autocommit === true && "'autocommit' must be false") ||
    (startTransaction !== undefined &&
      autocommit !== false &&
      "'startTransaction' needs 'autocommit: false'") ||
    (startTransaction === false && "'startTransaction' must be true")
  if (wrong !== false) throw new CommandError(72, wrong)
  return {
    txnNumber: number,
    isTransaction: autocommit === false,
    starts: startTransaction === true,
  }
}
