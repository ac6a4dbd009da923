import { metadataOf } from '../function-metadata.ts'
import type { HookRegistry } from '../hooks/hook-registry.ts'
import { STANDARD_METHODS } from '../method-table.ts'
import { suggestName } from '../options/name-suggestion.ts'
import type { EntryApplication, ServiceEntryFace } from '../services/method-entry.ts'

/** An application, with the services that its hooks may need. */
export interface WithServices extends EntryApplication {
  readonly entries: ReadonlyMap<string, ServiceEntryFace>
}

/**
 * Checks the hooks of an application and of its services, once all of these are there. Warns of hooks
 * for a mistyped method: an application takes hooks for any.
 * @throws {TypeError} a hook can never do what it is for
 */
export function checkAllHooks(app: WithServices): void {
  const entries = [...app.entries.values()]
  for (const { app: owner, hooks, service } of entries) checkHooks(hooks, owner, service)
  for (const owner of new Set([app, ...entries.map((entry) => entry.app)])) {
    checkHooks(owner.hookRegistry, owner, undefined)
  }
  const known = new Set([
    ...STANDARD_METHODS,
    ...entries.flatMap(({ methods }) => [...methods.keys()]),
  ])
  for (const { name } of app.hookRegistry.list()) {
    const hint = name === 'all' || known.has(name) ? '' : suggestName(name, known)
    if (hint !== '')
      app.logger.warn(
        { method: name },
        `No service has the method '${name}' of a hook of the application${hint}`,
      )
  }
}

function checkHooks(
  registry: HookRegistry,
  app: EntryApplication,
  service: object | undefined,
): void {
  for (const { group, name, hooks } of registry.list()) {
    const label = `'${group === 'short' ? '' : `${group} `}${name}' of ${registry.label}`
    for (const hook of hooks) metadataOf(hook).checkPlace?.({ app, service, group, label })
  }
}
