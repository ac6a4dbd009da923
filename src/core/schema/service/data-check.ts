import type { Params } from '../../params.ts'
import type { DataSchema } from '../../services/service-schemas.ts'
import { createStandardValidator, isStandardSchema } from '../validation/standard-schema.ts'
import type { Check, CheckOptions } from '../validation/validator.ts'
import { compileCheck } from '../validation/validator.ts'

/**
 * Returns what checks the data of a call with these params. The check returns the data, with what the
 * schema has converted in it; a promise of it for schemas of other libraries.
 */
export type DataCheck = (params: Params) => Check

/** The content type of forms, where numbers and booleans are strings. */
const FORM = /^application\/x-www-form-urlencoded\b/i

/**
 * Returns the check of data by a schema, by one that converts strings where the data is that of a form.
 * @throws {Error} the schema can't be compiled
 */
export function createDataCheck(
  schema: DataSchema,
  { dropsUnknown = false }: Pick<CheckOptions, 'dropsUnknown'> = {},
): DataCheck {
  if (isStandardSchema(schema)) {
    const check = createStandardValidator(schema)
    return () => check
  }
  const options = { dropsUnknown, tellsAll: true }
  const checkJSON = compileCheck(schema, options)
  // Few clients send forms.
  let checkForm: Check | undefined
  return ({ headers }) => {
    if (!FORM.test(String(headers?.['content-type']))) return checkJSON
    checkForm ??= compileCheck(schema, { ...options, convertsStrings: true })
    return checkForm
  }
}
