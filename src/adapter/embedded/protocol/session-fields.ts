import type { Document } from 'bson'
import { Long } from 'bson'
import { CommandError } from '../errors/command-error.ts'

/** A command's place in its session: as a retryable write, or as a part of a transaction. */
export interface Numbering {
  /** The number of the retryable write or of the transaction. */
  readonly txnNumber: number | undefined
  readonly isTransaction: boolean
  /** Whether the command is the first one of its transaction. */
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
