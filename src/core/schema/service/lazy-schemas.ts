import { metadataOf } from '../../function-metadata.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import type { ServiceEntryFace } from '../../services/method-entry.ts'
import type { EntrySchemas, ServiceSchemas } from '../../services/service-schemas.ts'
import type { CompiledSchemas } from './compiled-schemas.ts'
import { checkServiceSchemas } from './schemas-check.ts'

/**
 * Returns the schemas of a service, compiled on first use: the libraries for that take longer to load than
 * Fastify.
 * @throws {TypeError} a schema is missing, or a name is unknown
 */
export function attachSchemas(entry: ServiceEntryFace, schemas: ServiceSchemas): EntrySchemas {
  checkServiceSchemas(entry, schemas)
  let compiled: CompiledSchemas | undefined
  let loading: Promise<CompiledSchemas> | undefined
  const load = (): Promise<CompiledSchemas> => {
    loading ??= import('./compiled-schemas.ts').then((file) => {
      compiled = new file.CompiledSchemas(entry, schemas)
      return compiled
    })
    return loading
  }
  const checkSchemas = (context: HookContext): unknown => {
    if (context.params.provider === undefined) return undefined
    return compiled === undefined
      ? load().then((loaded) => loaded.check(context))
      : compiled.check(context)
  }
  return {
    // Hooks that authenticate come first: a caller without access gets only that error.
    addCheck({ all, own }) {
      const index = all.findIndex(isOther)
      if (index >= 0) return { all: all.toSpliced(index, 0, checkSchemas), own }
      const ownIndex = own.findIndex(isOther)
      return { all, own: own.toSpliced(ownIndex < 0 ? own.length : ownIndex, 0, checkSchemas) }
    },
    async load() {
      await load()
    },
    toMethodSchemas(method) {
      if (compiled !== undefined) return compiled.toMethodSchemas(method)
      throw new Error(`The schemas of service '${entry.path}' are not loaded yet`)
    },
  }
}

/** Whether a hook does more than authenticate. */
function isOther(hook: object): boolean {
  return metadataOf(hook).strategies === undefined
}
