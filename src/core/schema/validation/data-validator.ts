import { checkOptions } from '../../options/option-check.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { toPatchSchema } from './patch-schema.ts'
import type { SchemaCompiler, Validator } from './validator.ts'
import { getValidator } from './validator.ts'

/** The schemas of the data of a service. */
export interface DataSchemaMap {
  /** The data of `create`. */
  readonly create: JSONSchema
  /** The data of `update`. Default: that of `create`. */
  readonly update?: JSONSchema
  /** The data of `patch`. Default: that of `create`, with nothing required and without defaults. */
  readonly patch?: JSONSchema
}

/** What checks the data of a service, by method. */
export interface DataValidatorMap {
  /** Checks a new record. */
  readonly create: Validator
  /** Checks a record that replaces another one. */
  readonly update: Validator
  /** Checks what of a record is to be changed. */
  readonly patch: Validator
}

const SCHEMA = {
  expected: 'a JSON Schema',
  isValid: (value: unknown) => isObject(value) || typeof value === 'boolean',
}

/**
 * Returns what checks the data of `create`, `update` and `patch` by one schema, or by one for each. Of the
 * one schema, a patch has nothing required and sets no defaults.
 * @param ajv an Ajv of your own. Default: that of Remex
 */
export function getDataValidator(
  schema: JSONSchema | DataSchemaMap,
  ajv?: SchemaCompiler,
): DataValidatorMap {
  const map = isDataSchemaMap(schema) ? schema : { create: schema }
  checkOptions('getDataValidator()', map, { create: SCHEMA, update: SCHEMA, patch: SCHEMA })
  const create = getValidator(map.create, ajv)
  const update = map.update === undefined ? create : getValidator(map.update, ajv)
  const patch = map.patch ?? withOwnId(toPatchSchema(map.create), ajv)
  return { create, update, patch: getValidator(patch, ajv) }
}

function isDataSchemaMap(schema: JSONSchema | DataSchemaMap): schema is DataSchemaMap {
  return isObject(schema) && 'create' in schema
}

/** An Ajv of the caller's own may remember schemas by their ids, and `UserPatch` may be one of them. */
function withOwnId(schema: JSONSchema, ajv: SchemaCompiler | undefined): JSONSchema {
  if (ajv === undefined || !isObject(schema) || typeof schema['$id'] !== 'string') return schema
  return { ...schema, $id: `${schema['$id']}?patch` }
}
