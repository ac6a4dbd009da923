import type { Document } from 'bson'
import { CommandError } from '../matching/command-error.ts'

/** Returns any thrown value as a CommandError, the original one kept as its cause. */
export function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof RangeError) {
    return new CommandError(
      15,
      `The request is nested too deeply or too large: ${message}`,
      {},
      { cause: error },
    )
  }
  return new CommandError(8, message, {}, { cause: error })
}

/** Returns MongoDB's E11000 error, with the index's key pattern and the values that are taken. */
export function duplicateKey(
  namespace: string,
  indexName: string,
  keyPattern: Document,
  keyValue: Document,
): CommandError {
  const values = Object.entries(keyValue)
    .map(([field, value]) => `${field}: ${describe(value)}`)
    .join(', ')
  const message = `E11000 duplicate key error collection: ${namespace} index: ${indexName} dup key: { ${values} }`
  return new CommandError(11000, message, { keyPattern, keyValue })
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value === null || typeof value !== 'object') return String(value)
  const tag = (value as { _bsontype?: unknown })._bsontype
  if (tag === 'ObjectId') return `ObjectId('${String(value)}')`
  return tag === undefined ? JSON.stringify(value) : String(value)
}

/** The error codes that this server answers with, and MongoDB's names for them. */
const CODE_NAMES: ReadonlyMap<number, string> = new Map([
  [2, 'BadValue'],
  [4, 'NoSuchKey'],
  [8, 'UnknownError'],
  [9, 'FailedToParse'],
  [13, 'Unauthorized'],
  [14, 'TypeMismatch'],
  [15, 'Overflow'],
  [16, 'InvalidLength'],
  [20, 'IllegalOperation'],
  [22, 'InvalidBSON'],
  [26, 'NamespaceNotFound'],
  [27, 'IndexNotFound'],
  [28, 'PathNotViable'],
  [40, 'ConflictingUpdateOperators'],
  [43, 'CursorNotFound'],
  [48, 'NamespaceExists'],
  [50, 'MaxTimeMSExpired'],
  [52, 'DollarPrefixedFieldName'],
  [53, 'InvalidIdField'],
  [54, 'NotSingleValueField'],
  [59, 'CommandNotFound'],
  [66, 'ImmutableField'],
  [67, 'CannotCreateIndex'],
  [72, 'InvalidOptions'],
  [73, 'InvalidNamespace'],
  [85, 'IndexOptionsConflict'],
  [86, 'IndexKeySpecsConflict'],
  [100, 'UnsatisfiableWriteConcern'],
  [111, 'NotExactValueField'],
  [112, 'WriteConflict'],
  [146, 'ExceededMemoryLimit'],
  [168, 'InvalidPipelineOperator'],
  [171, 'CannotIndexParallelArrays'],
  [197, 'InvalidIndexSpecificationOption'],
  [224, 'QueryFeatureNotAllowed'],
  [225, 'TransactionTooOld'],
  [241, 'ConversionFailure'],
  [251, 'NoSuchTransaction'],
  [256, 'TransactionCommitted'],
  [261, 'TooManyLogicalSessions'],
  [263, 'OperationNotSupportedInTransaction'],
  [322, 'APIVersionError'],
  [10334, 'BSONObjectTooLarge'],
  [11000, 'DuplicateKey'],
  [14031, 'OutOfDiskSpace'],
])

/** Returns MongoDB's name for an error code; one without a name is `Location…` there. */
function codeNameOf(code: number): string {
  return CODE_NAMES.get(code) ?? `Location${code}`
}

/** Errors after which a driver may run the whole transaction again. */
const TRANSIENT_IN_TRANSACTION: ReadonlySet<number> = new Set([112, 251])

/** Returns the body of a failed command's reply. */
export function toErrorReply(error: CommandError, inTransaction: boolean): Document {
  const labels =
    inTransaction && TRANSIENT_IN_TRANSACTION.has(error.code) ? ['TransientTransactionError'] : []
  return {
    ok: 0,
    errmsg: error.message,
    code: error.code,
    codeName: codeNameOf(error.code),
    ...error.details,
    ...(labels.length === 0 ? {} : { errorLabels: labels }),
  }
}
