import { pickConditions } from '../../core-features.ts'
import { SchemaError } from '../../errors/setup-errors.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import { isStandardMethod } from '../../method-table.ts'
import type { Params } from '../../params.ts'
import type { MethodEntry, ServiceEntryFace } from '../../services/method-entry.ts'
import { checkList } from '../../services/multi-option.ts'
import type {
  DataSchema,
  JSONSchema,
  MethodSchemas,
  ServiceSchemas,
} from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { toClosedSchema, toPatchSchema } from '../model/derived-schemas.ts'
import { getOrAdd, hasKeywords } from '../model/keywords.ts'
import { linkReferences, toRecordSchema } from '../model/references.ts'
import { readOperatorPlaces } from '../queries/operator-places.ts'
import { findQueriedEntity, toDerivedQuery } from '../queries/query-syntax.ts'
import { whenReady } from '../resolvers/resolver.ts'
import { createStandardValidator, isStandardSchema } from '../validation/standard-schema.ts'
import type { QueryCheck } from '../validation/validation-hooks.ts'
import { createQueryCheck, validateEach } from '../validation/validation-hooks.ts'
import type { Check } from '../validation/validator.ts'
import { checkClosedParts, compileLinkedCheck } from '../validation/validator.ts'
import { toDataSchema } from './schemas-check.ts'
import { toPublicSchema, toWireSchema } from './wire-schema.ts'

/**
 * Returns the check for the data of a call with these params. It returns the converted data, or a promise of
 * it for schemas of other libraries.
 */
type DataCheck = (params: Params) => Check

/** The checks of external calls of one method. */
interface CompiledMethod {
  readonly query: QueryCheck
  /** `undefined` for methods without data. */
  readonly data: DataCheck | undefined
  /** Returns the schemas in their HTTP form. */
  readonly toSchemas: () => MethodSchemas
}

/** The compiled schemas of a service. Objects in input are closed, unless they say otherwise. */
export class CompiledSchemas {
  readonly #methods = new Map<string, CompiledMethod>()

  /** @throws {TypeError} a schema cannot be compiled; says which */
  constructor(entry: ServiceEntryFace, given: ServiceSchemas) {
    const dropsUnknown = given.unknown === 'drop'
    const service = `the schemas of service '${entry.path}'`
    const schemas = compile(service, () => linkSchemas(given))
    for (const [name, schema] of listResults(schemas)) {
      if (schema === undefined) continue
      // Results are not checked by it, but a misspelling would send other fields, and show up only later in a
      // derived query.
      compile(`${name} in ${service}`, () => compileLinkedCheck(schema, { useDefaults: false }))
    }
    // Methods with the same schema have one check.
    const closed = new Map<JSONSchema, JSONSchema>()
    const close = (schema: JSONSchema) => getOrAdd(closed, schema, () => toClosedSchema(schema))
    const queries = new Map<JSONSchema, QueryCheck>()
    const datas = new Map<DataSchema, DataCheck>()
    const defaultQuery = compile(service, () => schemas.query ?? toDefaultQuery(schemas))
    for (const method of entry.methods.values()) {
      if (!method.external) continue
      const { name } = method
      const own = schemas.methods?.[name]
      const isStandard = isStandardMethod(name)
      const isWhole = isStandard && own?.result !== undefined
      const isDerived = followsFromRecord(given.methods?.[name]?.query ?? given.query, given)
      const sent = toMethodData(method, schemas)
      const data = sent === undefined || isStandardSchema(sent) ? sent : close(sent)
      const query = close(own?.query ?? defaultQuery)
      const result = isStandard && !isWhole ? (schemas.result ?? schemas.entity) : own?.result
      const owner = `of '${name}' in ${service}`
      const compileQuery = () => compileQueryCheck(query, `the query ${owner}`, isDerived)
      const compileData = (schema: DataSchema) =>
        compile(`the data ${owner}`, () => createDataCheck(schema, dropsUnknown))
      this.#methods.set(name, {
        query: getOrAdd(queries, query, compileQuery),
        data: data === undefined ? data : getOrAdd(datas, data, () => compileData(data)),
        toSchemas: () => ({
          data: data === undefined ? data : toPublicSchema(data, { dropsUnknown }),
          query: toWireSchema(query),
          result: result === undefined ? result : toWireSchema(result),
          isWhole,
        }),
      })
    }
  }

  /**
   * Checks and converts the query and the data of an external call. Returns a promise if a schema of another
   * library needs one.
   * @throws {BadRequest} the call does not fit; lists the issues
   */
  check(context: HookContext): unknown {
    const method = this.#methods.get(context.method)
    if (method === undefined) return undefined
    method.query(context)
    if (method.data === undefined) return undefined
    const check = method.data(context.params)
    const conditions = pickConditions(context)
    const isList = context.method === 'create' && Array.isArray(context.data)
    if (isList) checkList(context)
    const data = isList ? validateEach(context.data, check) : check(context.data)
    return whenReady(data, (checked) => {
      context.data =
        conditions !== null && isRecord(checked) ? { ...conditions, ...checked } : checked
    })
  }

  /** Returns the schemas of a method in their HTTP form. */
  toMethodSchemas(name: string): MethodSchemas {
    const nothing = { data: undefined, query: true, result: undefined }
    return this.#methods.get(name)?.toSchemas() ?? nothing
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

/**
 * Returns the schemas of a service with linked references, so that their parts can be used in other schemas.
 * A schema in several places is also one object in the copy.
 * @throws {TypeError} two different schemas in one of them have the same `$id`
 */
function linkSchemas(schemas: ServiceSchemas): ServiceSchemas {
  const linked = new Map<unknown, unknown>()
  const link = (schema: unknown): unknown =>
    hasKeywords(schema) && !isStandardSchema(schema)
      ? getOrAdd(linked, schema, () => linkReferences(schema))
      : schema
  const { methods = {}, ...own } = schemas
  return {
    ...mapValues(own, link),
    methods: mapValues(methods, (one) => mapValues(one ?? {}, link)),
  }
}

function mapValues<T extends object>(object: T, map: (value: T[keyof T]) => unknown): T {
  const entries = Object.entries(object).map(([name, value]) => [name, map(value)])
  return Object.fromEntries(entries) as T
}

/** Returns the schemas of results, with their names. */
function listResults({ entity, result, methods = {} }: ServiceSchemas) {
  const own = Object.entries(methods).map(
    ([name, method]) => [`the result of '${name}'`, method?.result] as const,
  )
  return [["'entity'", entity] as const, ["'result'", result] as const, ...own]
}

function compile<R>(what: string, run: () => R): R {
  try {
    return run()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SchemaError(`Cannot compile ${what}: ${reason}`, { cause: error })
  }
}

function toMethodData(
  { name, spec }: MethodEntry,
  schemas: ServiceSchemas,
): DataSchema | undefined {
  if (!spec.arguments.includes('data')) return undefined
  const data = toDataSchema(schemas, name)
  const isDerived = name === 'patch' && schemas.patch === undefined
  return isDerived && hasKeywords(data) && !isStandardSchema(data) ? toPatchSchema(data) : data
}

/** Callers may query the fields that they see. */
function toDefaultQuery({ entity, result: record = entity }: ServiceSchemas): JSONSchema {
  if (hasKeywords(record)) {
    const { type = 'object', properties, allOf } = toRecordSchema(record)
    if (type !== 'object' || (properties === undefined && allOf === undefined)) {
      throw new SchemaError("no query follows from a record without 'properties': name the 'query'")
    }
    return toDerivedQuery({ type: 'object', ...record })
  }
  return { type: 'object', properties: {}, additionalProperties: false }
}

/** Whether a query schema contains nothing that is not in the schema of a record. */
function followsFromRecord(
  query: JSONSchema | undefined,
  { entity, result }: ServiceSchemas,
): boolean {
  return query === undefined || [entity, result].includes(findQueriedEntity(query) as JSONSchema)
}

/**
 * Returns the check of a query. A query schema derived from that of a record takes longest to compile, which
 * would delay the start with many services, so it is compiled on first use; only its own possible error is
 * looked for at once. It requires nothing, so an empty query fits.
 */
function compileQueryCheck(schema: JSONSchema, name: string, isDerived: boolean): QueryCheck {
  const compileQuery = (): Check =>
    compile(name, () => compileLinkedCheck(schema, { convertsStrings: true, useDefaults: false }))
  if (isDerived) compile(name, () => checkClosedParts(schema))
  let compiled = isDerived ? undefined : compileQuery()
  const check: Check = (query) => {
    if (isDerived && Object.keys(query as object).length === 0) return query
    compiled ??= compileQuery()
    return compiled(query)
  }
  return createQueryCheck(check, readOperatorPlaces(schema))
}

/** The content type of forms, where numbers and booleans are strings. */
const FORM = /^application\/x-www-form-urlencoded\b/i

/**
 * Returns the check of data by a schema, with string conversion for data of a form.
 * @throws {Error} the schema cannot be compiled
 */
function createDataCheck(schema: DataSchema, dropsUnknown: boolean): DataCheck {
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
