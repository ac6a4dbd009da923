import { setCheckedQuery } from '../../checked-query.ts'
import { describeFunction } from '../../function-metadata.ts'
import type { HookContext } from '../../hooks/hook-context.ts'
import { checkOptions } from '../../options/option-check.ts'
import type { Query } from '../../params.ts'
import { readOperatorPlaces } from '../queries/operator-places.ts'
import { readLists } from '../queries/query-lists.ts'
import { addWithheld, withoutSelection } from '../withheld-selection.ts'
import type { ValidationCall, ValidationHook, ValidationInput } from './validation-hook.ts'
import { checkHookType, findJSONSchema, toValidation } from './validation-hook.ts'
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
  const validate = toValidation('validateQuery()', schema, (given) =>
    compileCheck(given, { convertsStrings: true, useDefaults: false }),
  )
  const jsonSchema = findJSONSchema(schema)
  const places = jsonSchema === undefined ? undefined : readOperatorPlaces(jsonSchema)
  return async (context, next) => {
    checkHookType('validateQuery', context)
    // The type of a query differs from service to service.
    const call = context as ValidationCall & Pick<HookContext, 'params' | 'service'>
    const query = readLists(call.params.query ?? {})
    const isAdded = addWithheld(context, query)
    const validated = (await validate(query)) as Query
    setCheckedQuery(call, isAdded ? withoutSelection(validated) : validated, places)
    await next?.()
  }
}

describeFunction(validateQuery, { hookFactory: 'validateQuery(schema)' })
