import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'
import type { CommandContext, Commands } from './command.ts'

/** Commands about the sessions of clients. */
export const SESSION_COMMANDS: Commands = {
  endSessions: { fields: {}, run: (command, context) => end(command.endSessions, context) },
  killSessions: { fields: {}, run: (command, context) => end(command.killSessions, context) },
  killAllSessions: {
    fields: {},
    run: ({ killAllSessions }, { sessions }) => {
      const users: unknown = killAllSessions
      if (Array.isArray(users) && users.length > 0)
        throw notSupported('Killing the sessions of some users', 72)
      sessions.endAll()
      return { ok: 1 }
    },
  },
  refreshSessions: {
    fields: {},
    run: ({ refreshSessions }, { sessions }) => {
      for (const lsid of checkList(refreshSessions)) sessions.refresh(lsid)
      return { ok: 1 }
    },
  },
}

function end(lsids: unknown, { sessions }: CommandContext): Document {
  for (const lsid of checkList(lsids)) sessions.end(lsid)
  return { ok: 1 }
}

function checkList(lsids: unknown): unknown[] {
  if (Array.isArray(lsids)) return lsids
  throw new CommandError(14, 'The sessions must be an array')
}
