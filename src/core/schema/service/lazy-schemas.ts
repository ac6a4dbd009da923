import { metadataOf } from '../../function-metadata.ts'
import type { BeforeHooks } from '../../hooks/hook-chain.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import type { ServiceEntryFace } from '../../services/method-entry.ts'
import type { EntrySchemas, MethodSchemas, ServiceSchemas } from '../../services/service-schemas.ts'
import type { CompiledSchemas } from './compiled-schemas.ts'
import { checkServiceSchemas } from './schemas-check.ts'

/**
 * Returns the schemas of a service, which are compiled when they are needed first: the libraries for
 * that take longer to load than Fastify.
 * @throws {TypeError} a schema is missing, or a name is not known
 */
export function attachSchemas(entry: ServiceEntryFace, schemas: ServiceSchemas): EntrySchemas {
  checkServiceSchemas(entry, schemas)
  return new LazySchemas(entry, schemas)
}

class LazySchemas implements EntrySchemas {
  readonly #entry: ServiceEntryFace
  readonly #schemas: ServiceSchemas
  #compiled: CompiledSchemas | undefined
  #loading: Promise<CompiledSchemas> | undefined

  constructor(entry: ServiceEntryFace, schemas: ServiceSchemas) {
    this.#entry = entry
    this.#schemas = schemas
  }

  /** Hooks that tell who calls come first: whoever may not call at all is told so, and nothing else. */
  addCheck({ all, own }: BeforeHooks): BeforeHooks {
    const index = all.findIndex(isOther)
    if (index >= 0) return { all: all.toSpliced(index, 0, this.#check), own }
    const ownIndex = own.findIndex(isOther)
    return { all, own: own.toSpliced(ownIndex < 0 ? own.length : ownIndex, 0, this.#check) }
  }

  readonly #check = (context: HookContext): unknown => {
    if (context.params.provider === undefined) return undefined
    if (this.#compiled !== undefined) return this.#compiled.check(context)
    return this.#compile().then((compiled) => compiled.check(context))
  }

  async load(): Promise<void> {
    await this.#compile()
  }

  toMethodSchemas(method: string): MethodSchemas {
    if (this.#compiled !== undefined) return this.#compiled.toMethodSchemas(method)
    throw new Error(`The schemas of service '${this.#entry.path}' are not loaded yet`)
  }

  #compile(): Promise<CompiledSchemas> {
    this.#loading ??= import('./compiled-schemas.ts').then(({ CompiledSchemas: Compiled }) => {
      this.#compiled = new Compiled(this.#entry, this.#schemas)
      return this.#compiled
    })
    return this.#loading
  }
}

/** Whether a hook does more than to say who calls. */
function isOther(hook: object): boolean {
  return metadataOf(hook).strategies === undefined
}
