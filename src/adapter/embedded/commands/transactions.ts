import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import type { Commands } from './command.ts'

/**
 * The fields of the commands that end a transaction. The dispatcher ends it itself and never calls
 * `run` for a command that names its transaction.
 */
export const TRANSACTION_COMMANDS: Commands = {
  commitTransaction: { fields: { recoveryToken: 'object' }, run: refuseWithoutTransaction },
  abortTransaction: { fields: { recoveryToken: 'object' }, run: refuseWithoutTransaction },
}

function refuseWithoutTransaction(): Document {
  throw new CommandError(72, 'A commit and an abort must name the transaction they belong to')
}
