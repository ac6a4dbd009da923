import { changeParams } from '../../changed-params.ts'
import type { HookContext } from '../../hook-context.ts'
import type { MethodEntry, ServiceEntryFace } from '../../method-entry.ts'
import type { OperatorPlace } from '../../operator-places.ts'
import { allowOperators } from '../../operator-places.ts'
import type { MethodSchemas, ServiceSchemas } from '../../service-schemas.ts'
import { isPromise } from '../../value-kind.ts'
import { readOperatorPlaces } from '../queries/operator-places.ts'
import { readLists } from '../queries/query-lists.ts'
import type { Check } from '../validation/validator.ts'
import { compileCheck } from '../validation/validator.ts'
import type { DataCheck } from './data-check.ts'
import { createDataCheck } from './data-check.ts'
import type { MethodSources } from './method-sources.ts'
import { toMethodSources } from './method-sources.ts'
import { toPublicSchema, toWireSchema } from './wire-schema.ts'

/** What the calls of one method from outside are checked by. */
interface MethodCheck {
  readonly sources: MethodSources
  readonly checkQuery: Check
  /** Where the query schema names operators. */
  readonly places: OperatorPlace
  /** `null` for methods without data. */
  readonly checkData: DataCheck | null
}

/** The schemas of a service, compiled. */
export class CompiledSchemas {
  readonly #methods: ReadonlyMap<string, MethodCheck>

  /** @throws {TypeError} a schema can't be compiled; says which */
  constructor(entry: ServiceEntryFace, schemas: ServiceSchemas) {
    const methods = [...entry.methods.values()].filter(({ external }) => external)
    this.#methods = new Map(methods.map((method) => [method.name, createCheck(method, schemas)]))
  }

  /**
   * Checks and converts the query and the data of a call from outside. Returns a promise where a schema
   * of another library needs one.
   * @throws {BadRequest} what does not fit, with its places
   */
  check(context: HookContext): PromiseLike<void> | undefined {
    const method = this.#methods.get(context.method)
    if (method === undefined) return undefined
    const { checkQuery, checkData, places } = method
    const query = readLists(context.params.query ?? {})
    checkQuery(query)
    changeParams(context, { query })
    allowOperators(context, places)
    const data = checkData === null ? undefined : checkData(context)
    if (isPromise(data)) return data.then((checked) => setData(context, checked))
    if (data !== undefined) setData(context, data)
    return undefined
  }

  /** Returns the schemas of a method as they hold over HTTP. */
  toMethodSchemas(name: string): MethodSchemas {
    const sources = this.#methods.get(name)?.sources
    return {
      data: sources?.data === undefined ? undefined : toPublicSchema(sources.data),
      query: toWireSchema(sources?.query ?? true),
      result: sources?.result === undefined ? undefined : toWireSchema(sources.result),
    }
  }
}

function createCheck(method: MethodEntry, schemas: ServiceSchemas): MethodCheck {
  const compile = <R>(name: string, run: () => R): R => {
    try {
      return run()
    } catch (error) {
      const place = `the schema for the ${name} of '${method.name}' of service '${method.entry.path}'`
      const reason = error instanceof Error ? error.message : String(error)
      throw new TypeError(`Can not compile ${place}: ${reason}`, { cause: error })
    }
  }
  const sources = compile('query', () => toMethodSources(method, schemas))
  const { query, data } = sources
  return {
    sources,
    places: readOperatorPlaces(query),
    checkQuery: compile('query', () =>
      compileCheck(query, { convertsStrings: true, useDefaults: false }),
    ),
    checkData: data === undefined ? null : compile('data', () => createDataCheck(data, method)),
  }
}

function setData(context: HookContext, data: unknown): void {
  context.data = data
}
