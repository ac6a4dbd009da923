import type { OperatorPlace } from '../../checked-query.ts'
import { setCheckedQuery } from '../../checked-query.ts'
import type { BadRequest } from '../../errors/index.ts'
import { HookError } from '../../errors/setup-errors.ts'
import { describeFunction, nameFunction } from '../../function-metadata.ts'
import type { HookContext, HookType } from '../../hooks/hook-context.ts'
import { toMethodSpec } from '../../method-table.ts'
import { checkOptions } from '../../options/option-check.ts'
import type { Params, Query } from '../../params.ts'
import type { DataSchema, JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { linkReferences } from '../model/references.ts'
import { copyPlain } from '../plain-objects.ts'
import { readOperatorPlaces } from '../queries/operator-places.ts'
import { readLists } from '../queries/query-lists.ts'
import { whenReady } from '../resolvers/resolver.ts'
import { checkWithheld } from '../resolvers/selection.ts'
import { createStandardValidator, isStandardSchema } from './standard-schema.ts'
import { isFull, joinFaults, toValidationError } from './validation-error.ts'
import type { Check, CheckOptions } from './validator.ts'
import { compileCheck, findSchemaOf, isCompiledSchema, toValidator } from './validator.ts'

/** Params of a method, with queries of any type. */
interface CallParams extends Omit<Params, 'query'> {
  query?: object | undefined
}

/** The part of a context that validation hooks read and write. */
export interface ValidationCall {
  /** The name of the method. */
  readonly method: string
  /** When the hook runs. */
  readonly type: HookType
  /** The called service. */
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

/** A function that returns the replacement of data or a query, or throws. */
// Its parameter is `any` so that typed validators fit: external input has no type.
// biome-ignore lint/suspicious/noExplicitAny: a parameter of unknown type
export type ValidatorFunction = (value: any) => unknown

/** A schema that brings its own `validate`, as `schema()` of `@feathersjs/schema` returns it. */
export interface SchemaWithValidate {
  /** Returns the replacement of the value, or throws. */
  // biome-ignore lint/suspicious/noExplicitAny: a parameter of unknown type
  validate(value: any): unknown
}

/** What can validate data or a query. */
export type ValidationInput = DataSchema | ValidatorFunction | SchemaWithValidate

/** @throws {TypeError} the hook does not run before the method */
function checkHookType(name: string, { type }: ValidationCall): void {
  if (type === 'around' || type === 'before') return
  throw new HookError(`The ${name} hook must be used as a before or an around hook`)
}

interface Validation {
  readonly check: Check
  /** The JSON Schema of the check, if known. */
  readonly schema?: JSONSchema | undefined
}

/** Returns the check for any kind of schema or function; a JSON Schema is compiled first. */
export function readInput(
  owner: string,
  input: ValidationInput,
  options: CheckOptions,
): Validation {
  if (isStandardSchema(input)) return { check: createStandardValidator(input) }
  if (typeof input === 'function') {
    const check = isCompiledSchema(input)
      ? toValidator(input)
      : callValidator(owner, input as ValidatorFunction)
    return { check, schema: findSchemaOf(input) }
  }
  if (hasValidate(input)) return { check: callValidator(owner, (value) => input.validate(value)) }
  if (isObject(input) || typeof input === 'boolean') {
    return { check: compileCheck(input, options), schema: input }
  }
  throw new HookError(`${owner} needs a JSON Schema, a schema of another library, or a function`)
}

/** Whether a schema brings its own `validate`. */
function hasValidate(input: unknown): input is SchemaWithValidate {
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

/** Validators by method name, including custom methods. */
export interface ValidationMap {
  readonly [method: string]: ValidationInput
}

/** Keywords that distinguish a JSON Schema, which has at least one, from a map by method name. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$schema', '$id', '$ref', '$defs', '$comment', '$anchor', '$dynamicRef', 'definitions'],
  ...['type', 'enum', 'const', 'title', 'description', 'properties', 'patternProperties'],
  ...['additionalProperties', 'required', 'items', 'prefixItems'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', '~kind'],
])

/**
 * Returns a before or around hook that validates the data of each call, or each item of a list. With a map,
 * methods that it does not name are not validated. A function returns the replacement of the data. Methods
 * without data are skipped, and the data object of an internal caller is not changed.
 * @throws {BadRequest} in calls: the data does not fit, with the list of issues as its `data`
 */
export function validateData(schema: ValidationInput | ValidationMap): ValidationHook {
  const find = toFinder(schema)
  const hook: ValidationHook = async (context, next) => {
    checkHookType('validateData', context)
    const validate = hasData(context.method) ? find(context.method) : undefined
    if (validate !== undefined) {
      // Data parsed by a transport belongs to the call; an internal caller owns its data.
      const data = context.params.provider ? context.data : copyPlain(context.data)
      context.data = await validateEach(data, validate)
    }
    await next?.()
  }
  return nameFunction('validateData', hook)
}

/**
 * Resolves to validated data. Validates the items of a list one after the other, until the maximum number of
 * issues or another error. Errors of an item have its index in their paths.
 */
export async function validateEach(data: unknown, validate: Check): Promise<unknown> {
  if (!Array.isArray(data)) return validate(data)
  const validated: unknown[] = []
  let fault: BadRequest | undefined
  for (const [index, item] of data.entries()) {
    try {
      validated.push(await validate(item))
    } catch (error) {
      fault = joinFaults(fault, error, index)
      if (isFull(fault)) break
    }
  }
  if (fault !== undefined) throw fault
  return validated
}

function toFinder(schema: ValidationInput | ValidationMap): (method: string) => Check | undefined {
  if (!isValidationMap(schema)) {
    const { check } = readInput('validateData()', schema, { tellsAll: true })
    return () => check
  }
  const byMethod = new Map(
    Object.entries(schema).map(([method, input]) => {
      const owner = `validateData({ ${method} })`
      if (!hasData(method)) throw new HookError(`${owner}: calls of ${method} have no data`)
      return [method, readInput(owner, input, { tellsAll: true }).check]
    }),
  )
  return (method) => byMethod.get(method)
}

function isValidationMap(schema: ValidationInput | ValidationMap): schema is ValidationMap {
  if (!isObject(schema) || isStandardSchema(schema) || hasValidate(schema)) return false
  // Not enumerable in the schemas of TypeBox.
  const names = Object.getOwnPropertyNames(schema)
  return names.length > 0 && !names.some((name) => KEYWORDS.has(name))
}

function hasData(method: string): boolean {
  return toMethodSpec(method).arguments.includes('data')
}

describeFunction(validateData, { hookFactory: 'validateData(schema)' })

/** Options of `validateQuery`. */
export interface ValidateQueryOptions {
  /**
   * `false` or not given: the adapter also checks each query. `true` is rejected, since that check always
   * runs.
   */
  readonly skipSanitize?: false
}

const ALWAYS_SANITIZED = {
  expected: "false: the adapter's own check always runs, for what a later hook adds to the query",
  isValid: (value: unknown) => value === false,
}

/**
 * Returns a before or around hook that validates the query of each call and puts the converted query into
 * `params`; the object of the caller stays as it is. With a JSON Schema, strings are converted to the
 * numbers, booleans, dates and ids that it requires; a function, such as one of `getValidator()`, decides
 * itself.
 * @throws {BadRequest} in calls: the query does not fit, with the list of issues as its `data`
 */
export function validateQuery(
  schema: ValidationInput,
  options: ValidateQueryOptions = {},
): ValidationHook {
  checkOptions('validateQuery()', options, { skipSanitize: ALWAYS_SANITIZED })
  const { check, schema: known } = readInput('validateQuery()', schema, {
    convertsStrings: true,
    useDefaults: false,
  })
  const places =
    known === undefined ? undefined : readOperatorPlaces(linkReferences(known, { isStrict: true }))
  const checkQuery = createQueryCheck(check, places)
  const hook: ValidationHook = async (context, next) => {
    checkHookType('validateQuery', context)
    // The type of a query differs from service to service.
    await checkQuery(context as Parameters<QueryCheck>[0])
    await next?.()
  }
  return nameFunction('validateQuery', hook)
}

/**
 * Checks the query of a call and sets the converted query in the params. Returns a promise if the check does.
 */
export type QueryCheck = (
  call: Pick<HookContext, 'params' | 'service'> & { readonly self?: object | undefined },
) => unknown

/** @param places the places where operators are allowed */
export function createQueryCheck(check: Check, places: OperatorPlace | undefined): QueryCheck {
  return (call) => {
    const checked = checkWithheld(call, readLists(call.params.query ?? {}), check)
    return whenReady(checked, (query) => setCheckedQuery(call, query as Query, places))
  }
}

describeFunction(validateQuery, { hookFactory: 'validateQuery(schema)' })
