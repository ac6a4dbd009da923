import { isStandardMethod } from '../../method-table.ts'
import type { MethodEntry, ServiceEntryFace } from '../../services/method-entry.ts'
import type { DataSchema, JSONSchema, ServiceSchemas } from '../../services/service-schemas.ts'
import { getOrAdd, hasKeywords } from '../model/keywords.ts'
import { linkReferences, toRecordSchema } from '../model/references.ts'
import { toDerivedQuery } from '../queries/query-syntax.ts'
import { toPatchSchema } from '../validation/patch-schema.ts'
import { isStandardSchema } from '../validation/standard-schema.ts'
import { toClosedSchema } from './closed-schema.ts'
import { toDataSchema } from './schemas-check.ts'

/**
 * The schemas of one method as its service declares them, with what follows from others. Objects in what
 * is sent are closed, unless they say otherwise. Methods with the same schema have one object for it.
 */
export interface MethodSources {
  readonly method: MethodEntry
  /** What one call, or one item of a list, sends; `undefined` for methods without data. */
  readonly data: DataSchema | undefined
  readonly query: JSONSchema
  /** Whether the query follows from the schema of a record. */
  readonly isQueryDerived: boolean
  /** One record of what comes back; `undefined` where nothing is known of it. */
  readonly result: JSONSchema | undefined
  /** Whether `result` describes the whole answer. */
  readonly isWhole: boolean
}

/** Returns the schemas of the methods that callers outside may call. */
export function toMethodSources(
  { methods }: ServiceEntryFace,
  schemas: ServiceSchemas,
): readonly MethodSources[] {
  const closed = new Map<JSONSchema, JSONSchema>()
  const close = (schema: JSONSchema): JSONSchema => {
    const copy = closed.get(schema) ?? toClosedSchema(schema)
    closed.set(schema, copy)
    return copy
  }
  const query = schemas.query ?? toDefaultQuery(schemas.result ?? schemas.entity)
  const external = [...methods.values()].filter((method) => method.external)
  return external.map((method) => {
    const isStandard = isStandardMethod(method.name)
    const own = schemas.methods?.[method.name]
    const isWhole = isStandard && own?.result !== undefined
    const data = toMethodData(method, schemas)
    return {
      method,
      data: data === undefined || isStandardSchema(data) ? data : close(data),
      query: close(own?.query ?? query),
      isQueryDerived: own?.query === undefined && schemas.query === undefined,
      result: isStandard && !isWhole ? (schemas.result ?? schemas.entity) : own?.result,
      isWhole,
    }
  })
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

/** Callers may ask for what they see. */
function toDefaultQuery(record: JSONSchema | undefined): JSONSchema {
  if (hasKeywords(record)) {
    const { type = 'object', properties, allOf } = toRecordSchema(record)
    if (type !== 'object' || (properties === undefined && allOf === undefined)) {
      throw new TypeError("no query follows from a record without 'properties': name the 'query'")
    }
    return toDerivedQuery({ type: 'object', ...record })
  }
  return { type: 'object', properties: {}, additionalProperties: false }
}

/**
 * Returns the schemas of a service with linked references, so that parts of them may stand in others. The
 * same schema in several places is so in the copy.
 * @throws {TypeError} two different schemas in one of them have the same `$id`
 */
export function linkSchemas(schemas: ServiceSchemas): ServiceSchemas {
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
