import type { HookContext } from '../../hook-context.ts'
import type { MethodEntry } from '../../method-entry.ts'
import type { DataSchema } from '../../service-schemas.ts'
import { createStandardValidator, isStandardSchema } from '../validation/standard-schema.ts'
import { addIndex } from '../validation/validation-error.ts'
import type { Check } from '../validation/validator.ts'
import { compileCheck } from '../validation/validator.ts'

/**
 * Checks the data of a call. Returns it with what the schema has converted; a promise of it for schemas
 * of other libraries.
 * @throws {BadRequest} it does not fit
 */
export type DataCheck = (context: HookContext) => unknown

/** The content type of forms, where numbers and booleans are strings. */
const FORM = /^application\/x-www-form-urlencoded\b/i

/** Returns the check of the data of a method; `create` takes a list of records as well. */
export function createDataCheck(schema: DataSchema, method: MethodEntry): DataCheck {
  const isList = method.name === 'create'
  if (isStandardSchema(schema)) {
    const validate = createStandardValidator(schema)
    return ({ data }) =>
      isList && Array.isArray(data)
        ? Promise.all(data.map((item, index) => validate(item).catch(withIndex(index))))
        : validate(data)
  }
  const checkJSON = compileCheck(schema, { convertsStrings: false, useDefaults: true })
  const checkForm = compileCheck(schema, { convertsStrings: true, useDefaults: true })
  return ({ data, params }) => {
    const check = FORM.test(String(params.headers?.['content-type'])) ? checkForm : checkJSON
    return isList && Array.isArray(data) ? checkEach(data, check) : check(data)
  }
}

function checkEach(items: readonly unknown[], check: Check): unknown[] {
  return items.map((item, index) => {
    try {
      return check(item)
    } catch (error) {
      throw addIndex(error, index)
    }
  })
}

function withIndex(index: number): (error: unknown) => never {
  return (error) => {
    throw addIndex(error, index)
  }
}
