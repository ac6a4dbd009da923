import type { HookContext } from '../../hook-context.ts'
import type { ServiceEntryFace } from '../../method-entry.ts'
import type { OperatorPlace } from '../../operator-places.ts'
import { setCheckedQuery } from '../../operator-places.ts'
import type {
  DataSchema,
  JSONSchema,
  MethodSchemas,
  ServiceSchemas,
} from '../../service-schemas.ts'
import { isPromise } from '../../value-kind.ts'
import { readOperatorPlaces } from '../queries/operator-places.ts'
import { readLists } from '../queries/query-lists.ts'
import { validateEach } from '../validation/validate-data.ts'
import type { Check } from '../validation/validator.ts'
import { compileCheck } from '../validation/validator.ts'
import type { DataCheck } from './data-check.ts'
import { createDataCheck } from './data-check.ts'
import { checkList } from './list-check.ts'
import type { MethodSources } from './method-sources.ts'
import { toMethodSources } from './method-sources.ts'
import { toPublicSchema, toWireSchema } from './wire-schema.ts'

interface QueryCheck {
  readonly check: Check
  /** Where the schema names operators. */
  readonly places: OperatorPlace
}

/** What the calls of one method from outside are checked by. */
interface MethodCheck {
  readonly sources: MethodSources
  readonly query: QueryCheck
  /** `null` for methods without data. */
  readonly data: DataCheck | null
}

/** The schemas of a service, compiled. */
export class CompiledSchemas {
  readonly #methods: ReadonlyMap<string, MethodCheck>

  /** @throws {TypeError} a schema can't be compiled; says which */
  constructor(entry: ServiceEntryFace, schemas: ServiceSchemas) {
    const service = `the schemas of service '${entry.path}'`
    const all = compile(service, () => toMethodSources(entry, schemas))
    const queries = new Map<JSONSchema, QueryCheck>()
    const datas = new Map<DataSchema, DataCheck>()
    const toCheck = (sources: MethodSources): MethodCheck => {
      const { query, data, method } = sources
      const owner = `of '${method.name}' in ${service}`
      const forQuery = (): QueryCheck =>
        compile(`the query ${owner}`, () => createQueryCheck(query))
      const forData = (schema: DataSchema): DataCheck =>
        compile(`the data ${owner}`, () => createDataCheck(schema))
      return {
        sources,
        query: getOrAdd(queries, query, forQuery),
        data: data === undefined ? null : getOrAdd(datas, data, () => forData(data)),
      }
    }
    this.#methods = new Map(all.map((sources) => [sources.method.name, toCheck(sources)]))
  }

  /**
   * Checks and converts the query and the data of a call from outside. Returns a promise where a schema
   * of another library needs one.
   * @throws {BadRequest} what does not fit, with its places
   */
  check(context: HookContext): PromiseLike<void> | undefined {
    const method = this.#methods.get(context.method)
    if (method === undefined) return undefined
    const query = readLists(context.params.query ?? {})
    method.query.check(query)
    setCheckedQuery(context, query, method.query.places)
    if (method.data === null) return undefined
    const check = method.data(context.params)
    const isList = context.method === 'create' && Array.isArray(context.data)
    if (isList) checkList(context)
    const data = isList ? validateEach(context.data, check) : check(context.data)
    if (isPromise(data)) return data.then((checked) => setData(context, checked))
    setData(context, data)
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

function createQueryCheck(schema: JSONSchema): QueryCheck {
  return {
    check: compileCheck(schema, { convertsStrings: true, useDefaults: false }),
    places: readOperatorPlaces(schema),
  }
}

function compile<R>(what: string, run: () => R): R {
  try {
    return run()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new TypeError(`Can not compile ${what}: ${reason}`, { cause: error })
  }
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}

function setData(context: HookContext, data: unknown): void {
  context.data = data
}
