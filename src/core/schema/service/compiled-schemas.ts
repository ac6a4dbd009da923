import type { OperatorPlace } from '../../checked-query.ts'
import { setCheckedQuery } from '../../checked-query.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import type { Params } from '../../params.ts'
import type { ServiceEntryFace } from '../../services/method-entry.ts'
import { checkList } from '../../services/multi-option.ts'
import type {
  DataSchema,
  JSONSchema,
  MethodSchemas,
  ServiceSchemas,
} from '../../services/service-schemas.ts'
import { isPromise } from '../../value-kind.ts'
import { getOrAdd } from '../model/keywords.ts'
import { readOperatorPlaces } from '../queries/operator-places.ts'
import { readLists } from '../queries/query-lists.ts'
import { addWithheld, withoutSelection } from '../resolvers/selection.ts'
import { createStandardValidator, isStandardSchema } from '../validation/standard-schema.ts'
import { validateEach } from '../validation/validation-hooks.ts'
import type { Check, CheckOptions } from '../validation/validator.ts'
import { checkClosedParts, compileLinkedCheck } from '../validation/validator.ts'
import type { MethodSources } from './method-sources.ts'
import { linkSchemas, toMethodSources } from './method-sources.ts'
import { toPublicSchema, toWireSchema } from './wire-schema.ts'

interface QueryCheck {
  /** Checks a query and converts its values. @throws {BadRequest} it does not fit */
  check(query: unknown): unknown
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
  readonly #dropsUnknown: boolean

  /** @throws {TypeError} a schema can't be compiled; says which */
  constructor(entry: ServiceEntryFace, given: ServiceSchemas) {
    const dropsUnknown = given.unknown === 'drop'
    this.#dropsUnknown = dropsUnknown
    const service = `the schemas of service '${entry.path}'`
    const schemas = compile(service, () => linkSchemas(given))
    for (const [name, schema] of listResults(schemas)) {
      // Answers are not checked, but what is misspelt there would send other fields, and what is made of
      // it later, a query, has its faults in other places.
      compile(`${name} in ${service}`, () => compileLinkedCheck(schema, { useDefaults: false }))
    }
    const all = compile(service, () => toMethodSources(entry, schemas))
    const queries = new Map<JSONSchema, QueryCheck>()
    const datas = new Map<DataSchema, DataCheck>()
    const toCheck = (sources: MethodSources): MethodCheck => {
      const { query, isQueryDerived, data, method } = sources
      const owner = `of '${method.name}' in ${service}`
      const forQuery = (): QueryCheck =>
        createQueryCheck(query, `the query ${owner}`, isQueryDerived)
      const forData = (schema: DataSchema): DataCheck =>
        compile(`the data ${owner}`, () => createDataCheck(schema, { dropsUnknown }))
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
    const isAdded = addWithheld(context, query)
    method.query.check(query)
    const checked = isAdded ? withoutSelection(query) : query
    setCheckedQuery(context, checked, method.query.places)
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
    const options = { dropsUnknown: this.#dropsUnknown }
    return {
      data: sources?.data === undefined ? undefined : toPublicSchema(sources.data, options),
      query: toWireSchema(sources?.query ?? true),
      result: sources?.result === undefined ? undefined : toWireSchema(sources.result),
      isWhole: sources?.isWhole === true,
    }
  }
}

/**
 * Returns the check of a query. One that follows from the schema of a record takes longest to compile: with
 * many services the start would wait for it. The fault that it can have of its own is looked for at once.
 */
function createQueryCheck(schema: JSONSchema, name: string, isDerived: boolean): QueryCheck {
  const compileQuery = (): Check =>
    compile(name, () => compileLinkedCheck(schema, { convertsStrings: true, useDefaults: false }))
  if (isDerived) compile(name, () => checkClosedParts(schema))
  let compiled = isDerived ? undefined : compileQuery()
  return {
    places: readOperatorPlaces(schema),
    check: (query) => {
      compiled ??= compileQuery()
      return compiled(query)
    },
  }
}

/** Returns the schemas of what comes back, with their names. */
function listResults({ entity, result, methods = {} }: ServiceSchemas): [string, JSONSchema][] {
  const custom = Object.entries(methods).map(
    ([name, method]) => [`the result of '${name}'`, method?.result] as const,
  )
  return [["'entity'", entity] as const, ["'result'", result] as const, ...custom].flatMap(
    ([name, schema]): [string, JSONSchema][] => (schema === undefined ? [] : [[name, schema]]),
  )
}

function compile<R>(what: string, run: () => R): R {
  try {
    return run()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new TypeError(`Can not compile ${what}: ${reason}`, { cause: error })
  }
}

function setData(context: HookContext, data: unknown): void {
  context.data = data
}

/**
 * Returns what checks the data of a call with these params. The check returns the data, with what the
 * schema has converted in it; a promise of it for schemas of other libraries.
 */
type DataCheck = (params: Params) => Check

/** The content type of forms, where numbers and booleans are strings. */
const FORM = /^application\/x-www-form-urlencoded\b/i

/**
 * Returns the check of data by a schema, by one that converts strings where the data is that of a form.
 * @throws {Error} the schema can't be compiled
 */
function createDataCheck(
  schema: DataSchema,
  { dropsUnknown = false }: Pick<CheckOptions, 'dropsUnknown'> = {},
): DataCheck {
  if (isStandardSchema(schema)) {
    const check = createStandardValidator(schema)
    return () => check
  }
  const options = { dropsUnknown, tellsAll: true }
  const checkJSON = compileLinkedCheck(schema, options)
  // Few clients send forms.
  let checkForm: Check | undefined
  return ({ headers }) => {
    if (!FORM.test(String(headers?.['content-type']))) return checkJSON
    checkForm ??= compileLinkedCheck(schema, { ...options, convertsStrings: true })
    return checkForm
  }
}
