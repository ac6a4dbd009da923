import type { Static, TSchema } from 'typebox'
import { SchemaError } from '../../errors/setup-errors.ts'
import { checkOptions } from '../../options/option-check.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { hasMethod, isObject, isPromise } from '../../value-kind.ts'
import { toPatchSchema } from '../model/derived-schemas.ts'
import { ALTERNATIVES, CERTAIN, visitSchemas } from '../model/keywords.ts'
import { namesProperty, SchemaModel } from '../model/places.ts'
import { linkReferences, writeReferences } from '../model/references.ts'
import { compileSchema } from './ajv.ts'
import { createFaultSearch } from './all-faults.ts'
import { isStandardSchema } from './standard-schema.ts'
import { createStringConversion } from './string-conversion.ts'
import { createFieldDrop } from './unknown-fields.ts'
import { createValidationError, toValidationError } from './validation-error.ts'

/**
 * Checks data: resolves to the same data, with the schema's conversions applied, or rejects with a
 * `BadRequest`.
 */
export type Validator<T = unknown, R = T> = (data: T) => Promise<R>

/** Checks data synchronously: returns the same data, with the schema's conversions applied. */
export type Check = (data: unknown) => unknown

/** An Ajv of any version 8 and any dialect. */
export interface SchemaCompiler {
  /** Returns a function that checks values by a schema. */
  compile(schema: object): unknown
}

/** Additional effects of a check. */
export interface CheckOptions {
  /** Whether strings become numbers and booleans if the schema says so. Default: `false`. */
  readonly convertsStrings?: boolean
  /** Whether missing properties get their `default`. Default: `true`. */
  readonly useDefaults?: boolean
  /** Whether to drop fields that a schema can never accept. Default: `false`. */
  readonly dropsUnknown?: boolean
  /** Whether an error lists all issues that can be found quickly. Default: `false`, only the first. */
  readonly tellsAll?: boolean
}

/** What Ajv returns. */
interface CompiledSchema {
  (data: unknown): unknown
  readonly schema: JSONSchema
  readonly schemaEnv: object
  readonly errors?: readonly object[] | null
}

/** Whether a function was compiled by Ajv, rather than one that returns the data. */
export function isCompiledSchema(value: unknown): value is CompiledSchema {
  return typeof value === 'function' && 'schemaEnv' in value
}

/**
 * The property in which a validator keeps its schema, to read from it the operators that a query may have.
 */
const SCHEMA: unique symbol = Symbol('remex.schema')

/** Returns the JSON Schema of a validator, `undefined` if it is unknown. */
export function findSchemaOf(validator: object): JSONSchema | undefined {
  if (isCompiledSchema(validator)) return validator.schema
  return (validator as { [SCHEMA]?: JSONSchema })[SCHEMA]
}

/**
 * Returns a function that synchronously checks data by a JSON Schema, with Remex's Ajv.
 * @throws {Error} an invalid schema, with the place, or one whose parts reject each other's properties
 * @throws {BadRequest} in calls: the data does not fit, with the list of issues as its `data`
 */
export function compileCheck(schema: JSONSchema, options?: CheckOptions): Check {
  return compileLinkedCheck(linkReferences(schema), options)
}

/** Like {@link compileCheck}, for a schema with linked references. */
export function compileLinkedCheck(
  schema: JSONSchema,
  {
    convertsStrings = false,
    useDefaults = true,
    dropsUnknown = false,
    tellsAll = false,
  }: CheckOptions = {},
): Check {
  checkClosedParts(schema)
  const validate = compileSchema(schema, { useDefaults })
  const model = new SchemaModel(schema)
  const convert = convertsStrings ? createStringConversion(model) : () => undefined
  const drop = dropsUnknown ? createFieldDrop(model) : (data: unknown) => data
  const findAll = tellsAll ? createFaultSearch(schema, model, { useDefaults }) : () => undefined
  return (given) => {
    const data = drop(given)
    convert(data)
    if (validate(data) === true) return data
    const first = validate.errors ?? []
    throw createValidationError(findAll(data) ?? first)
  }
}

/**
 * Returns a function that checks data by a JSON Schema and resolves to the same data, with defaults and
 * conversions by keywords.
 * @param ajv a custom Ajv, such as one that converts types. Default: Remex's Ajv
 * @throws {TypeError} a schema of another library, or `ajv` is not an Ajv
 * @throws {BadRequest} in calls: the data does not fit, with the list of issues as its `data`
 */
export function getValidator<S extends TSchema>(
  schema: S,
  ajv?: SchemaCompiler,
): Validator<unknown, Static<S>>
export function getValidator<T = unknown, R = T>(
  schema: JSONSchema,
  ajv?: SchemaCompiler,
): Validator<T, R>
export function getValidator(schema: JSONSchema, ajv?: SchemaCompiler): Validator {
  if (isStandardSchema(schema)) {
    const taker = 'validateData() takes the schema of another library as it is'
    throw new SchemaError(`getValidator() takes a JSON Schema; ${taker}`)
  }
  if (ajv !== undefined && !hasMethod(ajv, 'compile')) {
    throw new SchemaError('getValidator() takes a custom Ajv instance, not its options')
  }
  const validate = ajv === undefined ? compileOwn(schema) : compileWith(ajv, schema)
  return Object.defineProperty(validate, SCHEMA, { value: schema })
}

function compileOwn(schema: JSONSchema): Validator {
  const check = compileCheck(schema, { tellsAll: true })
  return async (data) => check(data)
}

function compileWith(ajv: SchemaCompiler, schema: JSONSchema): Validator {
  checkClosedParts(linkReferences(schema))
  return toValidator(ajv.compile(isObject(schema) ? schema : { allOf: [schema] }))
}

/** Returns a validator for a function that Ajv has compiled. */
export function toValidator(compiled: unknown): Validator {
  if (!isCompiledSchema(compiled)) throw new SchemaError('The Ajv has compiled no function')
  return async (data) => {
    const outcome = compiled(data)
    // For a schema with `$async`.
    if (isPromise(outcome)) {
      await outcome.then(undefined, (thrown) => {
        throw toValidationError(thrown)
      })
    } else if (outcome !== true) throw createValidationError(compiled.errors ?? [])
    return data
  }
}

/** The schemas of the data of a service. */
export interface DataSchemaMap {
  /** The data of `create`. */
  readonly create: JSONSchema
  /** The data of `update`. Default: that of `create`. */
  readonly update?: JSONSchema
  /** The data of `patch`. Default: that of `create`, with nothing required and without defaults. */
  readonly patch?: JSONSchema
}

/** Validators for the data of a service, by method. */
export interface DataValidatorMap {
  /** Checks a new record. */
  readonly create: Validator
  /** Checks a record that replaces another one. */
  readonly update: Validator
  /** Checks the changes to a record. */
  readonly patch: Validator
}

const SCHEMA_RULE = {
  expected: 'a JSON Schema',
  isValid: (value: unknown) => isObject(value) || typeof value === 'boolean',
}

/**
 * Returns validators for the data of `create`, `update` and `patch`, by one schema or one for each. With one
 * schema, a patch requires nothing and sets no defaults.
 * @param ajv a custom Ajv. Default: Remex's Ajv
 */
export function getDataValidator(
  schema: JSONSchema | DataSchemaMap,
  ajv?: SchemaCompiler,
): DataValidatorMap {
  const map = isDataSchemaMap(schema) ? schema : { create: schema }
  const rules = { create: SCHEMA_RULE, update: SCHEMA_RULE, patch: SCHEMA_RULE }
  checkOptions('getDataValidator()', map, rules)
  const create = getValidator(map.create, ajv)
  const update = map.update === undefined ? create : getValidator(map.update, ajv)
  const patch =
    map.patch ?? withOwnId(writeReferences(toPatchSchema(linkReferences(map.create))), ajv)
  return { create, update, patch: getValidator(patch, ajv) }
}

function isDataSchemaMap(schema: JSONSchema | DataSchemaMap): schema is DataSchemaMap {
  return isObject(schema) && 'create' in schema
}

/** A custom Ajv may remember schemas by id, and `UserPatch` may be one of them. */
function withOwnId(schema: JSONSchema, ajv: SchemaCompiler | undefined): JSONSchema {
  if (ajv === undefined || !isObject(schema) || typeof schema['$id'] !== 'string') return schema
  return { ...schema, $id: `${schema['$id']}?patch` }
}

const ADVICE =
  'leave that out of the parts, and close the whole: ' +
  'Type.Intersect([…], { additionalProperties: false }) with the Type of remex/schema, or ' +
  'unevaluatedProperties: false in JSON Schema'

/**
 * Rejects a schema that joins others by `allOf` if one of them is closed by `additionalProperties: false` and
 * so rejects a property that another one names: no value can ever have that property, and the error would not
 * say why. A property with the schema `false` is excluded on purpose.
 * @throws {TypeError} names the property
 */
export function checkClosedParts(schema: JSONSchema): void {
  if (!isObject(schema)) return
  const joined = new SchemaModel(schema, CERTAIN)
  const possible = new SchemaModel(schema, [...CERTAIN, ...ALTERNATIVES, 'then', 'else'])
  visitSchemas(schema, (whole) => {
    if (!Array.isArray(whole['allOf'])) return
    const closed = joined
      .place([whole])
      .parts.filter((part) => part['additionalProperties'] === false)
    if (closed.length === 0) return
    const names = [...possible.place([whole]).namedSchemas('properties')]
      .filter(([, properties]) => properties.some((property) => property !== false))
      .map(([name]) => name)
    for (const part of closed) {
      const refused = names.find((name) => !namesProperty(part, name))
      if (refused === undefined) continue
      throw new SchemaError(
        `No value can have the property '${refused}' of a schema with allOf: ` +
          `a part of it is closed by additionalProperties: false, and does not name it; ${ADVICE}`,
      )
    }
  })
}
