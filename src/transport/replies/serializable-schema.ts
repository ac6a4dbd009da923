import type { FindReference } from '../../core/schema/schema-references.ts'
import { indexReferences } from '../../core/schema/schema-references.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'

type Keywords = Readonly<Record<string, unknown>>

/**
 * What a value may be when it is written: an object with its fields, a list, one of several, a scalar,
 * or with no keyword anything. Scalars and objects may be `null` everywhere.
 */
export interface SerializableSchema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'boolean'
  readonly nullable?: true
  readonly format?: 'date-time'
  readonly properties?: Readonly<Record<string, SerializableSchema>>
  readonly patternProperties?: Readonly<Record<string, SerializableSchema>>
  /** What holds for fields that are not named; without it they are not written. */
  readonly additionalProperties?: SerializableSchema
  readonly items?: SerializableSchema
  /** Forms of different types, none of them a reference. */
  readonly anyOf?: readonly SerializableSchema[]
  /** `#/$defs/Name`, a schema of the outermost one. */
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, SerializableSchema>>
}

const ANY: SerializableSchema = {}

/** Of an integer the serializer would cut a fraction off. */
const SCALARS: Readonly<Record<string, SerializableSchema>> = {
  string: { type: 'string', nullable: true },
  number: { type: 'number', nullable: true },
  integer: { type: 'number', nullable: true },
  boolean: { type: 'boolean', nullable: true },
}

/** A Date is written faster by its format. */
const DATE: SerializableSchema = { type: 'string', nullable: true, format: 'date-time' }

/** Keywords with schemas for the value itself: together they name its fields. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'then', 'else']

/** Keywords of the fields that an object has beside those that it names. */
const OTHER_FIELDS = ['additionalProperties', 'unevaluatedProperties']

/** Keywords of the items of lists. */
const ITEMS = ['items', 'prefixItems', 'additionalItems']

/**
 * Returns the schema by which records are written: it names the fields, those of all parts and
 * alternatives together, and demands nothing. A record of which some fields were selected lacks others,
 * and an old one has `null` where a string is meant; both are sent as they are.
 * @throws {TypeError} a reference leads nowhere
 */
export function toSerializableSchema(schema: JSONSchema): SerializableSchema {
  return isKeywords(schema) ? new Translation(schema).toRoot(schema) : ANY
}

/** The schemas of one value. */
interface Group {
  readonly parts: readonly Keywords[]
  /** Whether some of them were referred to: such a group may contain itself. */
  readonly isReferred: boolean
}

class Translation {
  readonly #find: FindReference
  readonly #ids = new Map<Keywords, number>()
  readonly #names = new Map<string, string>()
  readonly #definitions = new Map<string, SerializableSchema>()

  constructor(root: Keywords) {
    this.#find = indexReferences(root)
  }

  toRoot(root: Keywords): SerializableSchema {
    const form = this.#toForm(this.#expand([root]).parts)
    if (this.#definitions.size === 0) return form
    return { ...form, $defs: Object.fromEntries(this.#definitions) }
  }

  readonly #translate = (schemas: readonly unknown[]): SerializableSchema => {
    const { parts, isReferred } = this.#expand(schemas)
    return isReferred ? this.#toReference(parts) : this.#toForm(parts)
  }

  #toReference(parts: readonly Keywords[]): SerializableSchema {
    const key = parts.map((part) => this.#toId(part)).join()
    const known = this.#names.get(key)
    const name = known ?? `part-${this.#names.size}`
    if (known === undefined) {
      // Before it is made: it may contain itself.
      this.#names.set(key, name)
      this.#definitions.set(name, this.#toForm(parts))
    }
    return { $ref: `#/$defs/${name}` }
  }

  #toId(part: Keywords): number {
    const id = this.#ids.get(part) ?? this.#ids.size
    this.#ids.set(part, id)
    return id
  }

  #expand(schemas: readonly unknown[]): Group {
    const parts = new Set<Keywords>()
    let isReferred = false
    const add = (schema: unknown): void => {
      if (!isKeywords(schema) || parts.has(schema)) return
      parts.add(schema)
      const { $ref, dependentSchemas } = schema
      for (const keyword of SAME_VALUE) [schema[keyword] ?? []].flat().forEach(add)
      if (isKeywords(dependentSchemas)) Object.values(dependentSchemas).forEach(add)
      if (typeof $ref !== 'string') return
      const target = this.#find($ref)
      if (target === undefined) throw new TypeError(`The reference '${$ref}' leads nowhere`)
      isReferred = true
      add(target)
    }
    schemas.forEach(add)
    return { parts: [...parts], isReferred }
  }

  #toForm(parts: readonly Keywords[]): SerializableSchema {
    const types = new Set(parts.flatMap(toTypes))
    const object = parts.some(namesFields) ? [this.#toObject(parts)] : []
    const items = parts.flatMap((part) => ITEMS.flatMap((keyword) => part[keyword] ?? []))
    const list = items.some(isKeywords) ? [this.#toList(items)] : []
    const isOpen =
      (types.has('object') && object.length === 0) || (types.has('array') && list.length === 0)
    const scalars = new Set([...types].flatMap((type) => SCALARS[type] ?? []))
    const forms = [...object, ...list, ...scalars, ...(isOpen || types.has('any') ? [ANY] : [])]
    const [form = ANY, ...others] = forms
    if (others.length > 0) return forms.every((one) => one === ANY) ? ANY : { anyOf: forms }
    return form === SCALARS['string'] && isDate(parts) ? DATE : form
  }

  #toList(items: readonly unknown[]): SerializableSchema {
    return { type: 'array', nullable: true, items: this.#translate(items) }
  }

  #toObject(parts: readonly Keywords[]): SerializableSchema {
    const others = parts.flatMap((part) => OTHER_FIELDS.flatMap((keyword) => part[keyword] || []))
    return {
      type: 'object',
      nullable: true,
      properties: this.#toFields(parts, 'properties'),
      patternProperties: this.#toFields(parts, 'patternProperties'),
      ...(others.length > 0 && { additionalProperties: this.#translate(others) }),
    }
  }

  /** A field that several parts describe has what any of them names. */
  #toFields(parts: readonly Keywords[], keyword: string): Record<string, SerializableSchema> {
    const fields = new Map<string, unknown[]>()
    for (const part of parts) {
      for (const [name, schema] of Object.entries(part[keyword] ?? {})) {
        fields.set(name, [...(fields.get(name) ?? []), schema])
      }
    }
    const entries = [...fields].map(([name, schemas]) => [name, this.#translate(schemas)] as const)
    return Object.fromEntries(entries)
  }
}

function namesFields(part: Keywords): boolean {
  return ['properties', 'patternProperties', 'additionalProperties'].some(
    (keyword) => part[keyword] !== undefined,
  )
}

/** The types of a value, without `null`; those of its constants where it says none. */
function toTypes({ type, const: constant, enum: values }: Keywords): string[] {
  const named = [values ?? (constant === undefined ? [] : [constant])].flat()
  const types = [type ?? named.map(toType)].flat().map(String)
  return types.filter((one) => one !== 'null')
}

function toType(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'any' : typeof value
}

function isDate(parts: readonly Keywords[]): boolean {
  const strings = parts.filter((part) => toTypes(part).length > 0)
  return strings.every(({ format }) => format === 'date-time')
}

function isKeywords(value: unknown): value is Keywords {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
