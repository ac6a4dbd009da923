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
    if (typeof value === 'string') return conversionOf(place)(value)
    convertInside(value, place)
    return value
  }
  return (data) => convertInside(data, root)
}

/** Returns what makes of a string of a place what it stands for, else the string itself. */
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
  // Strings for another value, an id or a date, are not empty.
  if (isConverted(part)) return false
  if (!NAMING_VALUES.some((keyword) => part[keyword] !== undefined)) return true
  return toConversions(part).some((convert) => convert('') === '')
}

/** Returns the conversion to each type that a schema names, to the values alone that it lists. */
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
  // An id of more digits than a number has would be another id.
  const isExact =
    Number.isSafeInteger(number) || !WHOLE_NUMBER.test(text) || String(number) === text
  return isExact ? number : undefined
}
