import type { ValidateFunction } from 'ajv'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject, isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import type { Place, SchemaModel } from '../model/places.ts'
import { oncePerPlace } from '../model/places.ts'
import { copyPlain } from '../plain-objects.ts'
import type { CompileOptions } from './ajv.ts'
import { compileSchema } from './ajv.ts'

/** Only the first fault is reported for data with more values. */
const MAX_VALUES = 500

/** A value with more schemas than that counts as several: each of many alternatives may be a fault. */
const SCHEMAS_PER_VALUE = 10

/** A check that reads more often than that ends: each of many alternatives looks at the same values. */
const MAX_READS = 10_000

/** A string with a pattern may be checked by each of many alternatives. */
const MAX_PATTERN_LENGTH = 256

/** The name of a property stands in each of the faults that are inside of it. */
const MAX_NAME_LENGTH = 256

/**
 * Returns a function that finds all faults of data that does not fit a schema; `undefined` where that
 * would take long. A check that goes on behind a fault tries the pattern on a string that is too long for
 * it, compares the items of a list that is too long, and looks into each alternative of each alternative.
 * So only small data is looked through, with nothing in it that is larger than its schema allows, and for
 * as long as a number of reads takes.
 */
export function createFaultSearch(
  schema: JSONSchema,
  model: SchemaModel,
  options: CompileOptions,
): (data: unknown) => readonly object[] | undefined {
  const isSmall = createSizeCheck(model)
  let validate: ValidateFunction | undefined
  return (data) => {
    if (!isSmall(data)) return undefined
    validate ??= compileSchema(schema, { ...options, allErrors: true })
    try {
      // Frozen values cannot be watched.
      const isValid = validate(watch(copyPlain(data), { left: MAX_READS }))
      return isValid === true ? undefined : (validate.errors ?? undefined)
    } catch (error) {
      if (error === TOO_MANY_READS) return undefined
      throw error
    }
  }
}

const TOO_MANY_READS = new RangeError('A check takes too long')

/** What is left of something that has a bound. */
interface Budget {
  left: number
}

function spendReads(budget: Budget, count: number): void {
  budget.left -= count
  if (budget.left < 0) throw TOO_MANY_READS
}

/**
 * Returns a value that throws when it has been read too often. What a keyword has put in the place of a
 * string, a date or an id, is that string again: the schema may ask for one.
 */
function watch(value: unknown, budget: Budget): unknown {
  const toJSON = isObject(value) && !ArrayBuffer.isView(value) ? value['toJSON'] : undefined
  if (typeof toJSON === 'function') return toJSON.call(value)
  if (!Array.isArray(value) && !isPlainObject(value)) return value
  return new Proxy(value, {
    get: (target, name) => {
      spendReads(budget, 1)
      return watch(Reflect.get(target, name), budget)
    },
    ownKeys: (target) => {
      const keys = Reflect.ownKeys(target)
      spendReads(budget, keys.length)
      return keys
    },
  })
}

/** Returns how large the values of a place may be, and as how many of them one counts. */
function toLimits({ parts }: Place) {
  const names = parts.map((part) => part['propertyNames']).filter(isObject)
  return {
    weight: Math.max(1, parts.length / SCHEMAS_PER_VALUE),
    length: Math.min(
      findLeast(parts, 'maxLength'),
      ...parts.map(({ pattern, format }) => ((pattern ?? format) ? MAX_PATTERN_LENGTH : Infinity)),
    ),
    items: findLeast(parts, 'maxItems'),
    properties: findLeast(parts, 'maxProperties'),
    name: Math.min(findLeast(names, 'maxLength'), MAX_NAME_LENGTH),
  }
}

function findLeast(parts: readonly Keywords[], keyword: string): number {
  const limits = parts.map((part) => part[keyword]).filter((limit) => typeof limit === 'number')
  return Math.min(...limits)
}

/** Returns a test whether data has few values, none of them larger than its schema allows. */
function createSizeCheck({ root }: SchemaModel): (data: unknown) => boolean {
  const limitsOf = oncePerPlace(toLimits)
  const isWithin = (value: unknown, place: Place, budget: Budget): boolean => {
    const { weight, length, items, properties, name: longestName } = limitsOf(place)
    budget.left -= weight
    if (budget.left < 0) return false
    if (typeof value === 'string') return value.length <= length
    if (Array.isArray(value)) {
      if (value.length > items) return false
      return value.every((item, index) => isWithin(item, place.item(index), budget))
    }
    if (!isPlainObject(value)) return true
    const entries = Object.entries(value)
    if (entries.length > properties) return false
    return entries.every(
      ([name, inner]) =>
        name.length <= longestName && isWithin(inner, place.property(name), budget),
    )
  }
  return (data) => isWithin(data, root, { left: MAX_VALUES })
}
