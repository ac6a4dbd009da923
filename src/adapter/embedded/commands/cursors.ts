import type { Commands } from './command.ts'
import { readName } from './command.ts'

/** Commands about the cursors that other commands have opened. */
export const CURSOR_COMMANDS: Commands = {
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
}
