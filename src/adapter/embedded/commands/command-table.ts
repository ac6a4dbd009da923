import { notSupported } from '../errors/command-error.ts'
import { COMMON_FIELDS } from '../protocol/common-fields.ts'
import { AGGREGATE_COMMANDS } from './aggregate.ts'
import { CATALOG_COMMANDS } from './catalog.ts'
import type { Command } from './command.ts'
import { FIND_AND_MODIFY_COMMANDS } from './find-and-modify.ts'
import { HANDSHAKE_COMMANDS } from './handshake.ts'
import { INDEX_COMMANDS } from './indexes.ts'
import { READ_COMMANDS } from './read.ts'
import { SESSION_COMMANDS } from './sessions.ts'
import { WRITE_COMMANDS } from './write.ts'

/** All commands by their names. A Map, so that names such as `constructor` find nothing. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries<Command>({
    ...HANDSHAKE_COMMANDS,
    ...SESSION_COMMANDS,
    ...READ_COMMANDS,
    ...WRITE_COMMANDS,
    ...FIND_AND_MODIFY_COMMANDS,
    ...AGGREGATE_COMMANDS,
    ...CATALOG_COMMANDS,
    ...INDEX_COMMANDS,
  }).map(([name, { fields, run }]) => [
    name,
    fields === undefined
      ? { run }
      : { fields: { ...COMMON_FIELDS, [name]: 'any', ...fields }, run },
  ]),
)

/** Returns the command with this name. @throws {CommandError} 59 there is none */
export function findCommand(name: string): Command {
  const command = COMMANDS.get(name)
  if (command === undefined) throw notSupported(`The command '${name}'`, 59)
  return command
}
