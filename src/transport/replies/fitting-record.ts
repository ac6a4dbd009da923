import { isPlainObject } from '../../core/value-kind.ts'
import { findFieldSchema, findForm, resolveForm } from './listed-fields.ts'
import type { SerializableSchema } from './serializable-schema.ts'

/** Whether a value is written by the serializer as it is, and not made another one. */
type Fits = (value: unknown) => boolean

/**
 * Returns a function that tells whether the serializer writes a value as `JSON.stringify` would, but for
 * the fields that are not named. It makes `true` of the string `'no'`, and `'[object Object]'` of a
 * record where an id is meant.
 */
export function createFits(schema: SerializableSchema): Fits {
  return new Fitting(schema.$defs ?? {}).create(schema)
}

class Fitting {
  readonly #definitions: NonNullable<SerializableSchema['$defs']>
  readonly #known = new Map<SerializableSchema, Fits>()

  constructor(definitions: NonNullable<SerializableSchema['$defs']>) {
    this.#definitions = definitions
  }

  create(given: SerializableSchema): Fits {
    const schema = resolveForm(given, this.#definitions)
    const known = this.#known.get(schema)
    if (known !== undefined) return known
    let fits: Fits | undefined
    // A schema may contain itself.
    this.#known.set(schema, (value) => fits?.(value) ?? false)
    fits = this.#create(schema)
    this.#known.set(schema, fits)
    return fits
  }

  #create(schema: SerializableSchema): Fits {
    const { type, anyOf, format, items = {} } = schema
    if (anyOf !== undefined) return this.#createUnion(schema, anyOf)
    if (type === undefined) return hasJSON
    if (type === 'array') {
      const fits = this.create(items)
      return (value) => value === null || (Array.isArray(value) && value.every(fits))
    }
    if (type === 'object') return this.#createObject(schema)
    if (type !== 'string') return (value) => typeof value === type || value === null
    const isValue = format === 'date-time' ? isDate : isWrittenAsString
    return (value) => typeof value === 'string' || value === null || isValue(value)
  }

  #createUnion(schema: SerializableSchema, forms: readonly SerializableSchema[]): Fits {
    const all = forms.map((form) => ({ form, fits: this.create(form) }))
    return (value) => {
      if (!isPlainObject(value) && !Array.isArray(value)) return all.some(({ fits }) => fits(value))
      const found = findForm(value, schema)
      return all.some(({ form, fits }) => form === found && fits(value))
    }
  }

  #createObject(schema: SerializableSchema): Fits {
    const { properties = {}, patternProperties = {}, additionalProperties } = schema
    const named = Object.entries(properties).map(
      ([name, one]) => [name, this.create(one), name in Object.prototype] as const,
    )
    const isOpen = additionalProperties !== undefined || Object.keys(patternProperties).length > 0
    return (value) => {
      if (value === null) return true
      if (!isPlainObject(value) || value['toJSON'] !== undefined) return false
      for (const [name, fits, isInherited] of named) {
        if (isInherited && !Object.hasOwn(value, name)) return false
        const field = value[name]
        if (field !== undefined && !fits(field)) return false
      }
      return !isOpen || Object.entries(value).every((entry) => this.#fitsOpen(entry, schema))
    }
  }

  #fitsOpen([name, field]: readonly [string, unknown], schema: SerializableSchema): boolean {
    // The serializer reads patterns without the flag for Unicode.
    if (!/^[\x20-\x7e]*$/.test(name)) return false
    const one = findFieldSchema(name, schema)
    return one === undefined || field === undefined || this.create(one)(field)
  }
}

/** Whether a value has JSON at all: of a function the serializer would write none in its place. */
function hasJSON(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isJSONScalar(value)
  if (isDate(value) || isWrittenAsString(value)) return true
  return typeof (value as { toJSON?: unknown }).toJSON !== 'function'
}

function isJSONScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function isDate(value: unknown): boolean {
  return value instanceof Date
}

/** Dates are strings by their format, and ids by themselves. */
function isWrittenAsString(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof Date) return true
  return (
    '_bsontype' in value && value._bsontype === 'ObjectId' && !Object.hasOwn(value, '_bsontype')
  )
}
