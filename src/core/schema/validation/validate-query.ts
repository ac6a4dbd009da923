import { checkOptions } from '../../option-check.ts'
import { isPlainObject } from '../../value-kind.ts'
import type { ValidationHook, ValidationInput } from './validation-hook.ts'
import { checkHookType, toValidation } from './validation-hook.ts'
import { compileCheck } from './validator.ts'

/** Options of `validateQuery`. */
export interface ValidateQueryOptions {
  /**
   * `false`, or not given: the adapter checks each query as well. `true` is refused, since that check
   * always runs.
   */
  readonly skipSanitize?: false
}

const ALWAYS_SANITIZED = {
  expected: "false: the adapter's own check always runs, for what a later hook adds to the query",
  isValid: (value: unknown) => value === false,
}

/**
 * Returns a before or around hook that validates the query of each call and puts the converted query into
 * `params`; the object of the caller stays as it is. By a JSON Schema, strings become the numbers,
 * booleans, dates and ids that it asks for; a function, such as `getValidator()` returns, does what it does.
 * @throws {BadRequest} in calls: the query does not fit, with the list of what is wrong as its `data`
 */
export function validateQuery(
  schema: ValidationInput,
  options: ValidateQueryOptions = {},
): ValidationHook {
  checkOptions('validateQuery()', options, { skipSanitize: ALWAYS_SANITIZED })
  const validate = toValidation('validateQuery()', schema, (jsonSchema) =>
    compileCheck(jsonSchema, { convertsStrings: true, useDefaults: false }),
  )
  return async (context, next) => {
    checkHookType('validateQuery', context)
    const query = copyQuery(context.params.query ?? {})
    context.params = { ...context.params, query: (await validate(query)) as typeof query }
    await next?.()
  }
}

/** Copies the objects and lists of a query; dates and ids are values. */
function copyQuery<Q>(query: Q): Q {
  return copyPlain(query) as Q
}

function copyPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyPlain)
  if (!isPlainObject(value)) return value
  const copy: Record<string, unknown> = { ...value }
  for (const [name, inner] of Object.entries(copy)) {
    if (typeof inner === 'object') copy[name] = copyPlain(inner)
  }
  return copy
}
