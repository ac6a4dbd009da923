import type { StandardSchema } from '../../services/service-schemas.ts'
import { hasMethod, isObject } from '../../value-kind.ts'
import { createValidationError } from './validation-error.ts'

/** A library's description of what is wrong with a value. */
interface StandardIssue {
  readonly message?: unknown
  /** The path to the value: keys, or objects with a key. */
  readonly path?: readonly unknown[]
}

/**
 * Whether a schema comes from another library, such as Zod. A TypeBox schema is a JSON Schema, even if it
 * also has the interface.
 */
export function isStandardSchema(schema: unknown): schema is StandardSchema {
  const isGiven = (typeof schema === 'object' && schema !== null) || typeof schema === 'function'
  if (!isGiven || '~kind' in schema || !('~standard' in schema)) return false
  const standard = schema['~standard']
  return isObject(standard) && typeof standard['validate'] === 'function'
}

/**
 * Returns a function that checks data by a schema of another library and resolves to the schema's output.
 * @throws {BadRequest} in calls: the data does not fit, with the list of issues as its `data`
 */
export function createStandardValidator(
  schema: StandardSchema,
): (data: unknown) => Promise<unknown> {
  const { validate: validateAny, vendor } = schema['~standard']
  const isZod = vendor === 'zod' && hasMethod(schema, 'safeParseAsync')
  const validate = isZod ? toZodValidate(schema as ZodSchema) : validateAny
  return async (data) => {
    const result = await validate(data)
    if (!isObject(result)) {
      throw new TypeError(`The schema of ${vendor} has returned no result`)
    }
    const { issues, value } = result
    if (issues === undefined) return value
    throw createValidationError(Array.isArray(issues) ? issues.map(toFinding) : [])
  }
}

/** Zod's own method, in addition to the interface. */
interface ZodSchema extends StandardSchema {
  safeParseAsync(data: unknown): Promise<{
    readonly data?: unknown
    readonly error?: { readonly issues: readonly StandardIssue[] }
  }>
}

/**
 * Zod's `validate` first tries synchronously. If a refinement turns out to be async, it drops the promise and
 * starts over: the refinement would run twice, and its rejection would end the process.
 */
function toZodValidate(schema: ZodSchema): (data: unknown) => Promise<unknown> {
  return async (data) => {
    const result = await schema.safeParseAsync(data)
    return result.error === undefined ? { value: result.data } : { issues: result.error.issues }
  }
}

/** @see RFC 6901 §3 */
function toFinding({ message, path = [] }: StandardIssue): object {
  const instancePath = path
    .map((part) => String(isObject(part) ? part['key'] : part))
    .map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
  return { instancePath, schemaPath: '', keyword: 'standard', params: {}, message }
}
