import { CommandError } from '../errors.ts'
import type { Commands } from './command.ts'
import { readName } from './command.ts'

/** Commands about what a client keeps on the server: sessions, cursors and transactions. */
export const SESSION_COMMANDS: Commands = {
  endSessions: {
    fields: {},
    run: ({ endSessions: lsids }, { sessions }) => {
      if (!Array.isArray(lsids)) throw new CommandError(14, 'The sessions must be an array')
      for (const lsid of lsids) sessions.end(lsid)
      return { ok: 1 }
    },
  },
  getMore: {
    fields: { collection: 'string', batchSize: 'number' },
    run: (command, context) => {
      const namespace = `${context.database}.${readName(command, 'collection')}`
      return context.cursors.next(command.getMore, namespace, command.batchSize, context.session)
    },
  },
  killCursors: {
    fields: { cursors: 'array' },
    run: (command, { cursors }) => {
      const { cursors: ids = [] } = command
      const cursorsKilled = ids.filter((id: unknown) => cursors.kill(id))
      const cursorsNotFound = ids.filter((id: unknown) => !cursorsKilled.includes(id))
      return { cursorsKilled, cursorsNotFound, cursorsAlive: [], cursorsUnknown: [], ok: 1 }
    },
  },
  // The dispatcher ends a transaction itself: these run only where a command names none.
  commitTransaction: { fields: { recoveryToken: 'object' }, run: refuseWithoutTransaction },
  abortTransaction: { fields: { recoveryToken: 'object' }, run: refuseWithoutTransaction },
}

function refuseWithoutTransaction(): never {
  throw new CommandError(72, 'A commit and an abort must name the transaction they belong to')
}
