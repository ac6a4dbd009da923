import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { ALTERNATIVES, CERTAIN, listTypes, listValues } from '../model/keywords.ts'
import type { Place, SchemaModel } from '../model/places.ts'
import { oncePerPlace } from '../model/places.ts'
import { isConverted } from './ajv.ts'

/** A number as JSON has it. `Number()` takes `' 1 '`, `'0x10'` and `'Infinity'` as well. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

const WHOLE_NUMBER = /^-?\d+$/

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/** Returns what a string stands for where a schema asks for a type, `undefined` for nothing of it. */
type Convert = (text: string) => unknown

const CONVERSIONS: ReadonlyMap<string, Convert> = new Map<string, Convert>([
  ['string', (text) => text],
  ['number', toNumber],
  ['integer', toNumber],
  ['boolean', (text) => BOOLEANS.get(text)],
])

/** Keywords that say which values there are: a schema with none of them takes any string. */
const NAMING_VALUES = ['type', 'const', 'enum', ...CERTAIN, ...ALTERNATIVES]

/** A type that a value may have, and which values, if they are named. */
interface ScalarType {
  readonly convert: Convert
  readonly values: readonly unknown[] | undefined
}

/** What strings of a place become. */
interface Conversion {
  readonly types: readonly ScalarType[]
  readonly emptyIsNull: boolean
}

/**
 * Returns a function that converts the strings in data from a URL or a form, in the data itself: where a
 * schema asks for a number or a boolean, a string that is one in JSON becomes it. Of alternatives the
 * first one counts that takes the string. An empty string becomes `null` where that is a value and an
 * empty string is none: clients send `null` in this way. What is none of the types stays a string, for
 * the validation to refuse, so nothing becomes `NaN` or `Infinity`, and no digit of a number is lost.
 */
export function createStringConversion({ root }: SchemaModel): (data: unknown) => void {
  const conversionOf = oncePerPlace(toConversion)
  /** Converts what an object or a list holds. */
  const convertInside = (data: unknown, place: Place): void => {
    if (place.isUnknown) return
    if (Array.isArray(data)) {
      for (const [index, value] of data.entries()) data[index] = convert(value, place.item(index))
    } else if (isPlainObject(data)) {
      for (const name of Object.keys(data)) {
        const value = data[name]
        const converted = convert(value, place.property(name))
        if (converted !== value) data[name] = converted
      }
    }
  }
  const convert = (value: unknown, place: Place): unknown => {
    if (typeof value === 'string') return convertString(value, conversionOf(place))
    convertInside(value, place)
    return value
  }
  return (data) => convertInside(data, root)
}

function toConversion({ parts }: Place): Conversion {
  return {
    types: parts.flatMap(toScalarTypes),
    emptyIsNull: parts.some(takesNull) && !parts.some(takesEmptyString),
  }
}

function convertString(value: string, { types, emptyIsNull }: Conversion): unknown {
  if (value === '' && emptyIsNull) return null
  for (const type of types) {
    const converted = type.convert(value)
    if (converted !== undefined && type.values?.includes(converted) !== false) return converted
  }
  return value
}

function takesNull(part: Keywords): boolean {
  const { type } = part
  if (type !== undefined && ![type].flat().includes('null')) return false
  return listValues(part)?.includes(null) ?? type !== undefined
}

function takesEmptyString(part: Keywords): boolean {
  // Strings for another value, an id or a date, are not empty.
  if (isConverted(part)) return false
  if (!NAMING_VALUES.some((keyword) => part[keyword] !== undefined)) return true
  return toScalarTypes(part).some(
    ({ convert, values }) => convert('') === '' && values?.includes('') !== false,
  )
}

function toScalarTypes(part: Keywords): readonly ScalarType[] {
  return [...new Set(listTypes(part))].flatMap((type) => {
    const convert = CONVERSIONS.get(type)
    return convert === undefined ? [] : [{ convert, values: listValues(part) }]
  })
}

function toNumber(text: string): number | undefined {
  if (!JSON_NUMBER.test(text)) return undefined
  const number = Number(text)
  if (!Number.isFinite(number)) return undefined
  // An id of more digits than a number has would be another id.
  const isExact =
    Number.isSafeInteger(number) || !WHOLE_NUMBER.test(text) || String(number) === text
  return isExact ? number : undefined
}
