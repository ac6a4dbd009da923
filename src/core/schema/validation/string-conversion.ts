import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { ALTERNATIVES, CERTAIN, listTypes, listValues } from '../model/keywords.ts'
import type { Place, SchemaModel } from '../model/places.ts'
import { oncePerPlace } from '../model/places.ts'
import { isConverted } from './ajv.ts'

/** A number as in JSON. `Number()` also accepts `' 1 '`, `'0x10'` and `'Infinity'`. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

const WHOLE_NUMBER = /^-?\d+$/

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/** Converts a string to the type that a schema requires, `undefined` if it does not fit. */
type Convert = (text: string) => unknown

const CONVERSIONS: ReadonlyMap<string, Convert> = new Map<string, Convert>([
  ['string', (text) => text],
  ['number', toNumber],
  ['integer', toNumber],
  ['boolean', (text) => BOOLEANS.get(text)],
])

/** Keywords that restrict values: a schema without them accepts any string. */
const NAMING_VALUES = ['type', 'const', 'enum', ...CERTAIN, ...ALTERNATIVES]

/**
 * Returns a function that converts the strings in data from a URL or a form, in place: if a schema requires a
 * number or a boolean, a string with its JSON is converted. The first alternative that accepts the string
 * counts. An empty string becomes `null` if `null` is allowed and an empty string is not: clients send `null`
 * in this way. Other strings stay, and the validation rejects them, so nothing becomes `NaN` or `Infinity`,
 * and numbers lose no digits.
 */
export function createStringConversion({ root }: SchemaModel): (data: unknown) => void {
  const conversionOf = oncePerPlace(toConversion)
  /** Converts the contents of an object or a list. */
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
    if (typeof value === 'string') return conversionOf(place)(value)
    convertInside(value, place)
    return value
  }
  return (data) => convertInside(data, root)
}

/** Returns the conversion of strings at a place. It returns the string itself if nothing fits. */
function toConversion({ parts }: Place): Convert {
  const conversions = parts.flatMap(toConversions)
  const emptyIsNull = parts.some(takesNull) && !parts.some(takesEmptyString)
  return (text) => {
    if (text === '' && emptyIsNull) return null
    for (const convert of conversions) {
      const converted = convert(text)
      if (converted !== undefined) return converted
    }
    return text
  }
}

function takesNull(part: Keywords): boolean {
  const { type } = part
  if (type !== undefined && ![type].flat().includes('null')) return false
  return listValues(part)?.includes(null) ?? type !== undefined
}

function takesEmptyString(part: Keywords): boolean {
  // Strings that become ids or dates are not empty.
  if (isConverted(part)) return false
  if (!NAMING_VALUES.some((keyword) => part[keyword] !== undefined)) return true
  return toConversions(part).some((convert) => convert('') === '')
}

/** Returns the conversions to the types that a schema names, limited to the values that it lists. */
function toConversions(part: Keywords): readonly Convert[] {
  const values = listValues(part)
  return [...new Set(listTypes(part))].flatMap((type) => {
    const convert = CONVERSIONS.get(type)
    if (convert === undefined || values === undefined) return convert ?? []
    return (text: string) => {
      const converted = convert(text)
      return values.includes(converted) ? converted : undefined
    }
  })
}

function toNumber(text: string): number | undefined {
  if (!JSON_NUMBER.test(text)) return undefined
  const number = Number(text)
  if (!Number.isFinite(number)) return undefined
  // An id with more digits than a number holds would become another id.
  const isExact =
    Number.isSafeInteger(number) || !WHOLE_NUMBER.test(text) || String(number) === text
  return isExact ? number : undefined
}
