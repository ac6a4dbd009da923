import type { ServiceEntryFace } from './method-entry.ts'
import { isStandardMethod, METHOD_TABLE } from './method-table.ts'

/** Warns of a listener for the name of a method: the event of `create` is `created`. */
export function warnOfMethodName({ app, path, options }: ServiceEntryFace, name: unknown): void {
  if (typeof name !== 'string' || !isStandardMethod(name)) return
  const { event } = METHOD_TABLE[name]
  if (event === null || options.serviceEvents.includes(name)) return
  app.logger.warn(
    { service: path, event: name },
    `'${name}' is a method of service '${path}' and no event of it: listen to '${event}'`,
  )
}
