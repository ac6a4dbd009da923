import type { Document } from 'bson'
import type { CommandError } from './command-error.ts'
import { codeNameOf } from './error-codes.ts'

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
