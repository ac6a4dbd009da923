import { describeFunction } from '../../function-metadata.ts'
import { toMethodSpec } from '../../method-table.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { copyPlain } from './plain-copy.ts'
import { isStandardSchema } from './standard-schema.ts'
import { addIndex, isIncomplete, joinFaults } from './validation-error.ts'
import type { ValidationHook, ValidationInput } from './validation-hook.ts'
import { checkHookType, hasValidate, toValidation } from './validation-hook.ts'
import type { Check } from './validator.ts'
import { compileCheck } from './validator.ts'

/** Validators by the names of the methods, custom ones as well. */
export interface ValidationMap {
  readonly [method: string]: ValidationInput
}

/** What a JSON Schema has at least one of, and no map by the names of methods. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$schema', '$id', '$ref', '$defs', '$comment', '$anchor', '$dynamicRef', 'definitions'],
  ...['type', 'enum', 'const', 'title', 'description', 'properties', 'patternProperties'],
  ...['additionalProperties', 'required', 'items', 'prefixItems'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', '~kind'],
])

/**
 * Returns a before or around hook that validates the data of each call, of a list each item. By a map,
 * methods that it does not name are not validated. A function returns what is to stand in the place of
 * the data. Methods without data are left alone, and so is the object of a caller in this process.
 * @throws {BadRequest} in calls: the data does not fit, with the list of what is wrong as its `data`
 */
export function validateData(schema: ValidationInput | ValidationMap): ValidationHook {
  const find = toFinder(schema)
  return async (context, next) => {
    checkHookType('validateData', context)
    const validate = hasData(context.method) ? find(context.method) : undefined
    if (validate !== undefined) {
      // What a transport has parsed belongs to the call; an object of this process to its caller.
      const data = context.params.provider ? context.data : copyPlain(context.data)
      context.data = await validateEach(data, validate)
    }
    await next?.()
  }
}

/** Resolves to validated data, of a list each item; errors of an item have its index in their paths. */
export async function validateEach(data: unknown, validate: Check): Promise<unknown> {
  return Array.isArray(data) ? validateItems(data, validate) : validate(data)
}

/** One after the other, until there are as many faults as callers are told, or another error. */
async function validateItems(items: readonly unknown[], validate: Check): Promise<unknown[]> {
  const validated: unknown[] = []
  let faults: unknown
  for (const [index, item] of items.entries()) {
    try {
      validated.push(await validate(item))
    } catch (error) {
      faults = joinFaults(faults, addIndex(error, index))
      if (!isIncomplete(faults)) break
    }
  }
  if (faults !== undefined) throw faults
  return validated
}

function toFinder(schema: ValidationInput | ValidationMap): (method: string) => Check | undefined {
  if (!isValidationMap(schema)) {
    const validate = toValidation('validateData()', schema, compileData)
    return () => validate
  }
  const byMethod = new Map(
    Object.entries(schema).map(([method, input]) => {
      const owner = `validateData({ ${method} })`
      if (!hasData(method)) throw new TypeError(`${owner}: calls of ${method} have no data`)
      return [method, toValidation(owner, input, compileData)]
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

function compileData(schema: JSONSchema): Check {
  return compileCheck(schema, { tellsAll: true })
}

function hasData(method: string): boolean {
  return toMethodSpec(method).arguments.includes('data')
}

describeFunction(validateData, { hookFactory: 'validateData(schema)' })
