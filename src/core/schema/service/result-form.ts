import { SchemaError } from '../../errors/setup-errors.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject, isSingleValue } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { hasKeywords, listTypes, NAMING, OTHER_PROPERTIES, POSSIBLE } from '../model/keywords.ts'
import type { Place } from '../model/places.ts'
import { createPlaceReader, SchemaModel } from '../model/places.ts'
import { setOwnProperty } from '../plain-objects.ts'
import { toISODateString } from './iso-date.ts'

/** The result of `typeof` for the values of a type. */
const SCALARS: ReadonlyMap<string, string> = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
])

/** How picked values are converted, and callbacks about them. */
export interface PickOptions {
  /** Whether dates and ids become strings, as in JSON; else they stay as they are. */
  readonly asJSON: boolean
  /**
   * Whether an object with only named fields is returned itself, not copied; only with `asJSON`. Default:
   * `false`.
   */
  readonly keepsSame?: boolean
  /** Called for a value whose type differs from its schema; it is still picked. */
  onOtherType(field: string): void
  /** Called for an object where the schema expects none: it is omitted. */
  onLeftOut(field: string): void
}

/**
 * Returns a form that picks the fields of records that a schema names, in all its parts and alternatives. It
 * requires nothing: a record with selected fields lacks others, and an old record may have `null` instead of
 * a string; both are sent as they are.
 * @throws {TypeError} the reference of a named field leads nowhere; for fields that match a pattern, thrown
 *   when the first one is picked
 */
export function createResultForm(schema: JSONSchema): ResultForm {
  const model = new SchemaModel(schema, POSSIBLE)
  const formOf: (place: Place) => ResultForm = createPlaceReader(
    () => new ResultForm(),
    (form, place) => {
      const { $ref } = place.parts.find((part) => typeof part['$ref'] === 'string') ?? {}
      if ($ref !== undefined) throw new SchemaError(`The reference '${$ref}' leads nowhere`)
      const types = new Set(place.parts.flatMap(listTypes).filter((type) => type !== 'null'))
      const items = ['items', 'prefixItems', 'additionalItems'].flatMap((one) => place.schemas(one))
      form.pickFields = createFieldPicker(place, model, formOf)
      form.items = items.some(hasKeywords) ? formOf(model.place(items)) : undefined
      for (const type of types) if (SCALARS.has(type)) form.scalars.add(SCALARS.get(type) ?? type)
      form.scalar = [...form.scalars][0]
      const { pickFields } = form
      const isOpenObject = types.has('object') && pickFields === undefined
      const isOpenList = types.has('array') && form.items === undefined
      const isUntyped = pickFields === undefined && form.items === undefined && types.size === 0
      form.fieldNames = listFields(place)
      form.isOpen = isOpenObject || isOpenList || types.has('any') || isUntyped
    },
  )
  return formOf(model.root)
}

/** The allowed values at one place of a result: objects with some fields, lists, scalars, or anything. */
export class ResultForm {
  /** `undefined` if no object is described. */
  pickFields: PickFields | undefined
  /** The names of the described fields of objects; there may be others. */
  fieldNames: readonly string[] = []
  /** `undefined` if no list is described. */
  items: ResultForm | undefined
  /** Whether undescribed objects or lists are sent whole. */
  isOpen = true
  /** The types of scalars, as `typeof` names them. */
  readonly scalars: Set<string> = new Set()

  /** The first of them, to compare values with. */
  scalar: string | undefined

  /** Whether all values are sent as they are. */
  get isAnything(): boolean {
    const { isOpen, pickFields, items, scalars } = this
    return isOpen && pickFields === undefined && items === undefined && scalars.size === 0
  }

  /**
   * Returns a copy of a value with the named fields. Scalars stay as they are, even if the schema says
   * another type; an object is omitted if the schema says a scalar, since none of its fields is named.
   * @param field the name of the field
   */
  pick(value: unknown, field: string, options: PickOptions): unknown {
    // JSON has no functions. A function in a field `toJSON` would even replace the object.
    if (typeof value === 'function') return undefined
    if (typeof value !== 'object') {
      if (!this.isOpen && !this.#takes(value)) options.onOtherType(field)
      return value
    }
    if (value === null) return null
    // Called once, as JSON.stringify() does: it may return the object itself.
    const json = toJSONValue(value)
    if (isObject(json) && !isSingleForm(value, json)) {
      return Array.isArray(json)
        ? this.#pickList(json, field, options)
        : this.#pickObject(json, field, options)
    }
    if (!this.isOpen && json !== null && !this.#takes(json)) options.onOtherType(field)
    return options.asJSON || !isSingleValue(value) ? json : value
  }

  #takes(value: unknown): boolean {
    return value === undefined || this.scalars.has(typeof value)
  }

  #pickList(list: readonly unknown[], field: string, options: PickOptions): unknown {
    const { items } = this
    if (items !== undefined) {
      if (list.every((item) => typeof item === items.scalar)) return list
      return pickItems(list, options, (item) => items.pick(item, field, options))
    }
    if (this.isOpen) return list
    // A list in place of one record is picked with the fields of the record.
    options.onOtherType(field)
    return pickItems(list, options, (item) => this.pick(item, field, options))
  }

  #pickObject(object: object, field: string, options: PickOptions): unknown {
    if (this.pickFields !== undefined) return this.pickFields(object, options)
    if (this.isOpen) return object
    options.onOtherType(field)
    if (this.items !== undefined) return this.items.pick(object, field, options)
    options.onLeftOut(field)
    return undefined
  }
}

function listFields(place: Place): readonly string[] {
  const named = [...place.namedSchemas('properties')]
  return named.filter(([, schemas]) => !isHidden(schemas)).map(([name]) => name)
}

/** A field with the schema `false` is hidden from everyone. */
function isHidden(schemas: readonly unknown[]): boolean {
  return schemas.every((schema) => schema === false)
}

/** Returns an object with the fields of another one that are sent. */
type PickFields = (object: object, options: PickOptions) => object

/** Returns a function that picks the fields of the objects at a place, `undefined` if it describes none. */
function createFieldPicker(
  place: Place,
  model: SchemaModel,
  formOf: (place: Place) => ResultForm,
): PickFields | undefined {
  const describes = [...NAMING, 'additionalProperties']
  const isDescribed = place.parts.some((part) => describes.some((one) => part[one] !== undefined))
  if (!isDescribed) return undefined
  // A field described by several parts keeps what any of them names.
  const named = new Map<string, ResultForm>()
  const hidden = new Set<string>()
  for (const [name, schemas] of place.namedSchemas('properties')) {
    if (isHidden(schemas)) hidden.add(name)
    else named.set(name, formOf(model.place(schemas)))
  }
  const hasOthers = OTHER_PROPERTIES.some((keyword) =>
    place.schemas(keyword).some((schema) => schema !== false),
  )
  const hasPatterns = place.namedSchemas('patternProperties').size > 0
  const isClosed = !hasOthers && !hasPatterns
  const hasInherited = [...named.keys()].some((name) => name in Object.prototype)
  let others: ResultForm | undefined
  const findUnnamed = (name: string): ResultForm | undefined => {
    if (isClosed || hidden.has(name)) return undefined
    if (others !== undefined) return others
    const other = place.property(name)
    const form = other.isUnknown ? undefined : formOf(other)
    // One form for all names if nothing depends on the name.
    if (!hasPatterns) others = form
    return form
  }
  let pickNamed: PickFields | undefined
  return (object, options) => {
    const isPlain = Object.getPrototypeOf(object) === Object.prototype
    if (options.asJSON && isClosed && !hasInherited && isPlain) {
      pickNamed ??= compilePick(named)
      return pickNamed(object, options)
    }
    const picked: Record<string, unknown> = {}
    for (const name of Object.keys(object)) {
      const form = named.get(name) ?? findUnnamed(name)
      if (form === undefined) continue
      const value = (object as Keywords)[name]
      // Most fields are scalars of the expected type: no function is called for them.
      const part = typeof value === form.scalar ? value : form.pick(value, name, options)
      if (name === '__proto__') setOwnProperty(picked, name, part)
      else picked[name] = part
    }
    return picked
  }
}

/**
 * Returns a function with the names in its code: objects of one shape are read and created in one step.
 * Missing fields are `undefined`.
 */
function compilePick(named: ReadonlyMap<string, ResultForm>): PickFields {
  const forms = [...named.values()]
  const keys = [...named.keys()].map((name) => JSON.stringify(name))
  const reads = keys.map((key, index) => {
    const type = JSON.stringify(forms[index]?.scalar ?? 'undefined')
    return `const v${index} = object[${key}]
      const p${index} = typeof v${index} === ${type} || v${index} === undefined ? v${index} : forms[${index}].pick(v${index}, ${key}, options)`
  })
  const isPicked = keys.map((_key, index) => `p${index} === v${index}`).join(' && ') || 'true'
  const fields = keys.map((key, index) => `${key}: p${index}`)
  const code = `
    const hasOthers = (object) => {
      for (const name in object) {
        switch (name) {
          ${keys.map((key) => `case ${key}: continue`).join('\n')}
          default: return true
        }
      }
      return false
    }
    return (object, options) => {
      ${reads.join('\n')}
      const isSame = options.keepsSame && object.toJSON === undefined && ${isPicked}
      if (isSame && !hasOthers(object)) return object
      return { ${fields.join(', ')} }
    }`
  return new Function('forms', code)(forms)
}

/**
 * Returns the picked items of a list as a plain array, since a subclass of `Array` may have a `toJSON`. With
 * `keepsSame`, returns the list itself if its items are unchanged.
 */
export function pickItems(
  list: readonly unknown[],
  { keepsSame }: PickOptions,
  pick: (item: unknown) => unknown,
): readonly unknown[] {
  const picked = new Array<unknown>(list.length)
  let isSame =
    keepsSame === true && Object.getPrototypeOf(list) === Array.prototype && !('toJSON' in list)
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index]
    const part = pick(item)
    if (part !== item) isSame = false
    picked[index] = part
  }
  return isSame ? list : picked
}

/** The names in the JSON of BSON numbers, timestamps and patterns. */
const SINGLE_FIELDS: ReadonlySet<string> = new Set([
  ...['$numberDecimal', '$timestamp', 'low', 'high', 'unsigned', 'pattern', 'options'],
])

/** How Node writes bytes. Browsers have no `Buffer`. */
const BUFFER_TO_JSON = (globalThis as { Buffer?: { prototype: { toJSON: unknown } } }).Buffer
  ?.prototype.toJSON

/**
 * Whether the JSON of a value is an object without record fields, as for bytes or BSON values. The class or
 * the `_bsontype` of a value is not enough: its JSON may contain anything.
 */
function isSingleForm(value: object, json: object): boolean {
  if (!isSingleValue(value)) return false
  if (value instanceof Uint8Array) {
    return json === value || (value as { toJSON?: unknown }).toJSON === BUFFER_TO_JSON
  }
  return Object.entries(json).every(([name, part]) => SINGLE_FIELDS.has(name) && !isObject(part))
}

const { toJSON: DATE_TO_JSON, toISOString: DATE_TO_ISO } = Date.prototype

/** False if the program changed how dates are written before this file was loaded. */
const WRITES_ISO = JSON.stringify(new Date(1)) === '"1970-01-01T00:00:00.001Z"'

/** Returns what `JSON.stringify()` writes for an object. */
function toJSONValue(value: object): unknown {
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON !== 'function') return value
  return toJSON === DATE_TO_JSON && isPlainDate(value) ? toISODateString(value) : toJSON.call(value)
}

/** Whether a value is a valid date with the usual JSON: a subclass may have its own. */
function isPlainDate(value: object): value is Date {
  return (
    WRITES_ISO &&
    value instanceof Date &&
    value.toISOString === DATE_TO_ISO &&
    !Number.isNaN(value.getTime())
  )
}
