import type { Document } from 'bson'
import { Long } from 'bson'
import { CommandError } from '../errors/command-error.ts'

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
