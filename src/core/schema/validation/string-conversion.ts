import { findSchemaKeywords } from '../../schema-keywords.ts'
import type { JSONSchema } from '../../service-schemas.ts'
import { isObject, isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../json-schema.ts'
import type { FindReference } from '../schema-references.ts'
import { indexReferences } from '../schema-references.ts'
import { keywordDate } from './date-keyword.ts'

/** A number as JSON has it. `Number()` takes `' 1 '`, `'0x10'` and `'Infinity'` as well. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

const WHOLE_NUMBER = /^-?\d+$/

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/** Returns what a string stands for where a schema asks for a type, `undefined` for nothing of it. */
const CONVERSIONS: ReadonlyMap<unknown, (text: string) => unknown> = new Map<
  unknown,
  (text: string) => unknown
>([
  ['string', (text) => text],
  ['number', toNumber],
  ['integer', toNumber],
  ['boolean', (text) => BOOLEANS.get(text)],
])

/** Keywords that say which values there are: a schema with none of them takes any string. */
const NAMING_VALUES = ['type', 'const', 'enum', '$ref', 'allOf', 'anyOf', 'oneOf'] as const

/** What the schema `true` says. */
const ANYTHING: Keywords = {}

/** Keywords whose schemas hold for the value itself. */
const LISTS_IN_PLACE = ['allOf', 'anyOf', 'oneOf'] as const
const SCHEMAS_IN_PLACE = ['if', 'then', 'else'] as const

/** A type that a value may have, and which values, if they are named. */
interface ScalarType {
  readonly convert: (text: string) => unknown
  readonly values: readonly unknown[] | undefined
}

/** A name of `patternProperties`, and what it stands for. */
interface Pattern {
  readonly name: string
  readonly regex: RegExp
}

/**
 * Returns a function that converts the strings in data from a URL or a form, in the data itself: where a
 * schema asks for a number or a boolean, a string that is one in JSON becomes it. Of alternatives the
 * first one counts that takes the string. An empty string becomes `null` where that is a value and an
 * empty string is none: clients send `null` in this way. What is none of the types stays a string, for
 * the validation to refuse, so nothing becomes `NaN` or `Infinity`, and no digit of a number is lost.
 */
export function createStringConversion(schema: JSONSchema): (data: unknown) => void {
  if (!isObject(schema)) return () => undefined
  const root = new Places(schema).find([schema])
  return (data) => root.convertInside(data)
}

/** The places by the schemas that hold there: where a schema contains itself, they are so many still. */
class Places {
  readonly #findReference: FindReference
  readonly #places = new Map<string, Place>()
  readonly #ids = new Map<Keywords, number>()

  constructor(root: object) {
    this.#findReference = indexReferences(root)
  }

  find(schemas: readonly unknown[]): Place {
    const parts = new Set<Keywords>()
    for (const schema of schemas) addParts(schema, parts, this.#findReference)
    const key = [...parts].map((part) => this.#toId(part)).join()
    const place = this.#places.get(key) ?? new Place([...parts], this)
    this.#places.set(key, place)
    return place
  }

  #toId(part: Keywords): number {
    const id = this.#ids.get(part) ?? this.#ids.size
    this.#ids.set(part, id)
    return id
  }
}

/** One place of the data, with all schemas that hold there. */
class Place {
  readonly #all: Places
  readonly #parts: readonly Keywords[]
  readonly #types: readonly ScalarType[]
  readonly #emptyIsNull: boolean
  readonly #patterns: readonly Pattern[]
  /** By the names that schemas have: callers can not make it grow. */
  readonly #named = new Map<string, Place>()
  /** By the patterns that a name matches. */
  readonly #matched = new Map<string, Place>()
  readonly #items = new Map<number, Place>()

  constructor(parts: readonly Keywords[], all: Places) {
    this.#all = all
    this.#parts = parts
    this.#types = parts.flatMap(toScalarTypes)
    this.#emptyIsNull = parts.some(takesNull) && !parts.some(takesEmptyString)
    const patterns = parts.flatMap((part) => Object.keys(toSchemas(part['patternProperties'])))
    this.#patterns = [...new Set(patterns)].map((name) => ({ name, regex: new RegExp(name, 'u') }))
  }

  /** Converts what an object or a list holds. */
  convertInside(data: unknown): void {
    if (this.#parts.length === 0) return
    if (Array.isArray(data)) {
      for (const [index, value] of data.entries()) data[index] = this.#item(index).#convert(value)
    } else if (isPlainObject(data)) {
      for (const [name, value] of Object.entries(data)) {
        const converted = this.#property(name).#convert(value)
        if (converted !== value) data[name] = converted
      }
    }
  }

  #convert(value: unknown): unknown {
    if (typeof value !== 'string') {
      this.convertInside(value)
      return value
    }
    if (value === '' && this.#emptyIsNull) return null
    for (const { convert, values } of this.#types) {
      const converted = convert(value)
      if (converted !== undefined && values?.includes(converted) !== false) return converted
    }
    return value
  }

  #property(name: string): Place {
    const isNamed = this.#parts.some((part) => Object.hasOwn(toSchemas(part['properties']), name))
    const matching = this.#patterns.filter(({ regex }) => regex.test(name)).map((one) => one.name)
    const places = isNamed ? this.#named : this.#matched
    const key = isNamed ? name : matching.join('\n')
    return this.#remember(places, key, () =>
      this.#parts.flatMap((part) => toPropertySchemas(part, name, matching)),
    )
  }

  #item(index: number): Place {
    const longest = Math.max(...this.#parts.map((part) => toPrefix(part).length))
    const key = Math.min(index, longest)
    return this.#remember(this.#items, key, () =>
      this.#parts.map((part) => toItemSchema(part, key)),
    )
  }

  #remember<Key>(places: Map<Key, Place>, key: Key, schemas: () => readonly unknown[]): Place {
    const known = places.get(key)
    if (known !== undefined) return known
    const place = this.#all.find(schemas())
    places.set(key, place)
    return place
  }
}

/** Adds a schema, and those in it that hold for the same value, in their order. */
function addParts(schema: unknown, parts: Set<Keywords>, findReference: FindReference): void {
  if (schema === true) parts.add(ANYTHING)
  if (!isObject(schema) || parts.has(schema)) return
  parts.add(schema)
  const { $ref } = schema
  const inPlace = [
    typeof $ref === 'string' ? findReference($ref) : undefined,
    ...LISTS_IN_PLACE.flatMap((keyword) => schema[keyword]),
    ...SCHEMAS_IN_PLACE.map((keyword) => schema[keyword]),
    ...Object.values(toSchemas(schema['dependentSchemas'])),
  ]
  for (const inner of inPlace) addParts(inner, parts, findReference)
}

/** Returns the values that a schema names, `undefined` where it names none. */
function toValues(part: Keywords): readonly unknown[] | undefined {
  const values = 'const' in part ? [part['const']] : part['enum']
  return Array.isArray(values) ? values : undefined
}

function takesNull(part: Keywords): boolean {
  const { type } = part
  if (type !== undefined && ![type].flat().includes('null')) return false
  return toValues(part)?.includes(null) ?? type !== undefined
}

function takesEmptyString(part: Keywords): boolean {
  // Strings for another value, an id or a date, are not empty.
  const isConverted = [keywordDate, ...findSchemaKeywords()].some(
    ({ keyword }) => part[keyword] === true,
  )
  if (isConverted) return false
  if (!NAMING_VALUES.some((keyword) => part[keyword] !== undefined)) return true
  return toScalarTypes(part).some(
    ({ convert, values }) => convert('') === '' && values?.includes('') !== false,
  )
}

function toScalarTypes(part: Keywords): readonly ScalarType[] {
  const listed = toValues(part)
  const types = [part['type'] ?? listed?.map((value) => typeof value) ?? []].flat()
  return [...new Set(types)].flatMap((type) => {
    const convert = CONVERSIONS.get(type)
    return convert === undefined ? [] : [{ convert, values: listed }]
  })
}

function toPropertySchemas(part: Keywords, name: string, matching: readonly string[]): unknown[] {
  const properties = toSchemas(part['properties'])
  const patterns = toSchemas(part['patternProperties'])
  const schemas = [
    ...(Object.hasOwn(properties, name) ? [properties[name]] : []),
    ...matching.flatMap((pattern) => (Object.hasOwn(patterns, pattern) ? [patterns[pattern]] : [])),
  ]
  return schemas.length > 0
    ? schemas
    : [part['additionalProperties'], part['unevaluatedProperties']]
}

/** The schemas of the first items: `prefixItems`, and `items` before 2020. */
function toPrefix({ prefixItems, items }: Keywords): readonly unknown[] {
  if (Array.isArray(prefixItems)) return prefixItems
  return Array.isArray(items) ? items : []
}

function toItemSchema(part: Keywords, index: number): unknown {
  const prefix = toPrefix(part)
  if (index < prefix.length) return prefix[index]
  return Array.isArray(part['items']) ? part['additionalItems'] : part['items']
}

function toSchemas(value: unknown): Keywords {
  return isObject(value) ? value : {}
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
