import type { MethodEntry } from '../../method-entry.ts'
import { isStandardMethod } from '../../method-table.ts'
import type { DataSchema, JSONSchema, ServiceSchemas } from '../../service-schemas.ts'
import { querySyntax } from '../queries/query-syntax.ts'
import { toPatchSchema } from '../validation/patch-schema.ts'
import { isStandardSchema } from '../validation/standard-schema.ts'
import { toClosedSchema } from './closed-schema.ts'
import { hasKeywords } from './map-schema.ts'
import { toDataSchema } from './schemas-check.ts'

/** The schemas of one method as its service declares them, with what follows from others. */
export interface MethodSources {
  /** What one call, or one item of a list, sends; `undefined` for methods without data. */
  readonly data: DataSchema | undefined
  readonly query: JSONSchema
  /** One record of what comes back; `undefined` where nothing is known of it. */
  readonly result: JSONSchema | undefined
}

/** Returns the schemas of a method: objects in what is sent are closed, unless they say otherwise. */
export function toMethodSources(
  { name, spec }: MethodEntry,
  schemas: ServiceSchemas,
): MethodSources {
  const own = isStandardMethod(name) ? undefined : schemas.methods?.[name]
  const query = own?.query ?? schemas.query ?? toDefaultQuery(schemas.result ?? schemas.entity)
  const data = spec.arguments.includes('data') ? toMethodData(name, schemas) : undefined
  return {
    data: data === undefined || isStandardSchema(data) ? data : toClosedSchema(data),
    query: toClosedSchema(query),
    result: isStandardMethod(name) ? (schemas.result ?? schemas.entity) : own?.result,
  }
}

function toMethodData(name: string, schemas: ServiceSchemas): DataSchema | undefined {
  const data = toDataSchema(schemas, name)
  const isDerived = name === 'patch' && schemas.patch === undefined
  return isDerived && hasKeywords(data) && !isStandardSchema(data) ? toPatchSchema(data) : data
}

/** Callers may ask for what they see. */
function toDefaultQuery(record: JSONSchema | undefined): JSONSchema {
  if (hasKeywords(record)) return querySyntax({ type: 'object', ...record })
  return { type: 'object', properties: {}, additionalProperties: false }
}
