import type { Static, TSchema } from 'typebox'

import type { JSONSchema } from '../../services/service-schemas.ts'
import { hasMethod, isObject, isPromise } from '../../value-kind.ts'
import { toOneDocument } from '../model/document.ts'
import { compileSchema } from './ajv.ts'
import { createFaultSearch } from './all-faults.ts'
import { checkClosedParts } from './closed-parts.ts'
import { isStandardSchema } from './standard-schema.ts'
import { createStringConversion } from './string-conversion.ts'
import { createFieldDrop } from './unknown-fields.ts'
import { createValidationError, toValidationError } from './validation-error.ts'

/**
 * Checks data: resolves to the same data, with what the schema has converted in it, or is rejected with a
 * `BadRequest`.
 */
export type Validator<T = unknown, R = T> = (data: T) => Promise<R>

/** Checks data at once: returns the same data, with what the schema has converted in it. */
export type Check = (data: unknown) => unknown

/** An Ajv, of whatever version 8 and dialect. */
export interface SchemaCompiler {
  /** Returns what checks values by a schema. */
  compile(schema: object): unknown
}

/** What checking by a schema may do beside it. */
export interface CheckOptions {
  /** Whether strings become numbers and booleans where the schema says so. Default: `false`. */
  readonly convertsStrings?: boolean
  /** Whether the `default` of a property is put where it is missing. Default: `true`. */
  readonly useDefaults?: boolean
  /** Whether the fields that a schema refuses in any case are left out. Default: `false`. */
  readonly dropsUnknown?: boolean
  /** Whether an error has all faults that can be found soon. Default: `false`, the first one. */
  readonly tellsAll?: boolean
}

/** What Ajv returns. */
interface CompiledSchema {
  (data: unknown): unknown
  readonly schema: JSONSchema
  readonly schemaEnv: object
  readonly errors?: readonly object[] | null
}

/** Whether a function is one that Ajv has compiled, and not one that returns the data. */
export function isCompiledSchema(value: unknown): value is CompiledSchema {
  return typeof value === 'function' && 'schemaEnv' in value
}

/** The schemas of validators, for what else they say: the operators that a query may have. */
const SCHEMAS = new WeakMap<object, JSONSchema>()

/** Returns the JSON Schema that a function validates by, `undefined` where it is not known. */
export function findSchemaOf(validator: object): JSONSchema | undefined {
  return isCompiledSchema(validator) ? validator.schema : SCHEMAS.get(validator)
}

/**
 * Returns a function that checks data by a JSON Schema at once, with the Ajv of Remex.
 * @throws {TypeError} a schema whose parts refuse each other's properties, or have one `$id`
 * @throws {Error} an invalid schema, with the place
 * @throws {BadRequest} in calls: the data does not fit, with the list of what is wrong as its `data`
 */
export function compileCheck(
  given: JSONSchema,
  {
    convertsStrings = false,
    useDefaults = true,
    dropsUnknown = false,
    tellsAll = false,
  }: CheckOptions = {},
): Check {
  const schema = toOneDocument(given)
  checkClosedParts(schema)
  const validate = compileSchema(schema, { useDefaults })
  const convert = convertsStrings ? createStringConversion(schema) : () => undefined
  const drop = dropsUnknown ? createFieldDrop(schema) : (data: unknown) => data
  const findAll = tellsAll ? createFaultSearch(schema, { useDefaults }) : () => undefined
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
 * what keywords have converted in it.
 * @param ajv an Ajv of your own, one that converts types for example. Default: that of Remex
 * @throws {TypeError} a schema of another library, or no Ajv
 * @throws {BadRequest} in calls: the data does not fit, with the list of what is wrong as its `data`
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
    throw new TypeError(`getValidator() takes a JSON Schema; ${taker}`)
  }
  if (ajv !== undefined && !hasMethod(ajv, 'compile')) {
    throw new TypeError('getValidator() takes an Ajv of your own, and not its options')
  }
  const validate =
    ajv === undefined ? toAsync(compileCheck(schema, { tellsAll: true })) : compileWith(ajv, schema)
  SCHEMAS.set(validate, schema)
  return validate
}

function toAsync(check: Check): Validator {
  return async (data) => check(data)
}

function compileWith(ajv: SchemaCompiler, schema: JSONSchema): Validator {
  checkClosedParts(schema)
  return toValidator(ajv.compile(isObject(schema) ? schema : { allOf: [schema] }))
}

/** Returns a validator for a function that Ajv has compiled. */
export function toValidator(compiled: unknown): Validator {
  if (!isCompiledSchema(compiled)) throw new TypeError('The Ajv has compiled no function')
  return async (data) => {
    const outcome = compiled(data)
    // Of a schema that says `$async`.
    if (isPromise(outcome)) await Promise.resolve(outcome).catch(throwValidationError)
    else if (outcome !== true) throw createValidationError(compiled.errors ?? [])
    return data
  }
}

function throwValidationError(thrown: unknown): never {
  throw toValidationError(thrown)
}
