import type { HookType } from '../../hooks/hook-context.ts'
import type { Params } from '../../params.ts'
import type { DataSchema, JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { createStandardValidator, isStandardSchema } from './standard-schema.ts'
import { toValidationError } from './validation-error.ts'
import type { Check } from './validator.ts'
import { findSchemaOf, isCompiledSchema, toValidator } from './validator.ts'

/** Params of a method, whatever the type of its queries. */
interface CallParams extends Omit<Params, 'query'> {
  query?: object | undefined
}

/** The part of a context that the hooks of validation read and write. */
export interface ValidationCall {
  /** The name of the method. */
  readonly method: string
  /** When the hook runs. */
  readonly type: HookType
  /** The service that is called. */
  readonly service?: object
  /** The object that the method was called on. */
  readonly self?: object | undefined
  /** The data that the method is called with. */
  data?: unknown
  /** The params that the method is called with. */
  params: CallParams
}

/** A hook for before or around: what `validateData` and `validateQuery` return. */
export type ValidationHook = (context: ValidationCall, next?: () => Promise<void>) => Promise<void>

/** A function that returns what is to stand in the place of data or a query, or that throws. */
// Its parameter is `any` so that validators of a certain type fit: what callers send has none.
// biome-ignore lint/suspicious/noExplicitAny: a parameter of unknown type
export type ValidatorFunction = (value: any) => unknown

/** A schema that brings its own `validate`, as `schema()` of `@feathersjs/schema` returns it. */
export interface SchemaWithValidate {
  /** Returns what is to stand in the place of the value, or throws. */
  // biome-ignore lint/suspicious/noExplicitAny: a parameter of unknown type
  validate(value: any): unknown
}

/** What data or a query can be validated by. */
export type ValidationInput = DataSchema | ValidatorFunction | SchemaWithValidate

/** @throws {TypeError} the hook does not run before the method */
export function checkHookType(name: string, { type }: ValidationCall): void {
  if (type === 'around' || type === 'before') return
  throw new TypeError(`The ${name} hook must be used as a before or an around hook`)
}

/** Returns what validates by a schema or function of whatever kind; a JSON Schema is compiled first. */
export function toValidation(
  owner: string,
  input: ValidationInput,
  compile: (schema: JSONSchema) => Check,
): Check {
  if (isStandardSchema(input)) return createStandardValidator(input)
  if (isCompiledSchema(input)) return toValidator(input)
  if (typeof input === 'function') return callValidator(owner, input as ValidatorFunction)
  if (hasValidate(input)) return callValidator(owner, (value) => input.validate(value))
  if (isObject(input) || typeof input === 'boolean') return compile(input)
  throw new TypeError(`${owner} needs a JSON Schema, a schema of another library, or a function`)
}

/** Returns the JSON Schema that is behind a schema or function, `undefined` where there is none known. */
export function findJSONSchema(input: ValidationInput): JSONSchema | undefined {
  if (isStandardSchema(input)) return undefined
  if (typeof input === 'function') return findSchemaOf(input)
  return hasValidate(input) ? undefined : input
}

/** Whether a schema brings its own `validate`. */
export function hasValidate(input: unknown): input is SchemaWithValidate {
  return isObject(input) && typeof input['validate'] === 'function'
}

function callValidator(owner: string, validate: ValidatorFunction): Check {
  return async (value) => {
    let validated: unknown
    try {
      validated = await validate(value)
    } catch (error) {
      throw toValidationError(error)
    }
    if (validated === undefined && value !== undefined) {
      throw new TypeError(`${owner}: the function has returned nothing, in place of the value`)
    }
    return validated
  }
}
