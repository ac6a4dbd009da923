import type { Document } from 'bson'
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

/** Checked without an effect: the server has one member, which keeps everything in memory. */
const READ_CONCERN = { level: 'string', afterClusterTime: 'any', provenance: 'string' } as const
const WRITE_CONCERN = {
  w: 'any',
  j: 'bool',
  fsync: 'bool',
  wtimeout: 'number',
  provenance: 'string',
} as const

const READ_PREFERENCE = {
  mode: 'string',
  tags: 'array',
  maxStalenessSeconds: 'number',
  hedge: 'object',
} as const

const MODES = ['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest']

/** @throws {CommandError} a field that every command may have is not valid */
export function checkCommonFields(command: Document): void {
  const { apiVersion, maxTimeMS: limit, readConcern, writeConcern } = command
  if (apiVersion !== undefined && apiVersion !== '1') {
    throw new CommandError(322, `Provided apiVersion '${apiVersion}' is not '1'`)
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0 && limit < 2 ** 31)) {
    throw new CommandError(2, `${limit} is out of range for maxTimeMS`)
  }
  const { mode } = readFields('$readPreference', command.$readPreference ?? {}, READ_PREFERENCE)
  if (mode !== undefined && !MODES.includes(mode)) {
    throw new CommandError(9, `'$readPreference.mode' must be one of ${MODES.join(', ')}`)
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
