import { isObject } from '../../value-kind.ts'
import type { Keywords } from '../json-schema.ts'
import type { FindReference } from '../schema-references.ts'
import { indexReferences } from '../schema-references.ts'

/** What the schema `true` says. */
const ANYTHING: Keywords = {}

/** Keywords whose schemas hold for the value itself. */
const LISTS_IN_PLACE = ['allOf', 'anyOf', 'oneOf'] as const
const SCHEMAS_IN_PLACE = ['if', 'then', 'else'] as const

/** The schemas of one place of the data. */
export interface PlaceSchemas {
  /** Those that are named for the place. */
  readonly given: readonly unknown[]
  /** The same, and all in them that hold for the same value: a value may fit some of them alone. */
  readonly parts: readonly Keywords[]
  /** Finds what a `$ref` of them means. */
  readonly find: FindReference
}

/** A name of `patternProperties`, and what it stands for. */
interface Pattern {
  readonly name: string
  readonly regex: RegExp
}

/**
 * Returns the place that the whole data has by a schema.
 * @param read returns what a walk over the data needs to know of each place
 */
export function createPlaces<Facts>(
  schema: object,
  read: (schemas: PlaceSchemas) => Facts,
): SchemaPlace<Facts> {
  return new Places(indexReferences(schema), read).find([schema])
}

/** The places by the schemas that hold there: where a schema contains itself, they are so many still. */
class Places<Facts> {
  readonly #findReference: FindReference
  readonly #read: (schemas: PlaceSchemas) => Facts
  readonly #places = new Map<string, SchemaPlace<Facts>>()
  readonly #ids = new Map<unknown, number>()

  constructor(findReference: FindReference, read: (schemas: PlaceSchemas) => Facts) {
    this.#findReference = findReference
    this.#read = read
  }

  find(schemas: readonly unknown[]): SchemaPlace<Facts> {
    const given = [...new Set(schemas)].filter((schema) => schema === true || isObject(schema))
    const key = given.map((schema) => this.#toId(schema)).join()
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const parts = new Set<Keywords>()
    for (const schema of given) addParts(schema, parts, this.#findReference)
    const facts = this.#read({ given, parts: [...parts], find: this.#findReference })
    const place = new SchemaPlace([...parts], facts, (inner) => this.find(inner))
    this.#places.set(key, place)
    return place
  }

  #toId(schema: unknown): number {
    const id = this.#ids.get(schema) ?? this.#ids.size
    this.#ids.set(schema, id)
    return id
  }
}

/** One place of the data, with what is known of the values there. */
export class SchemaPlace<Facts> {
  readonly facts: Facts
  /** Whether no schema says anything of the values, nor of what is in them. */
  readonly isUnknown: boolean
  readonly #find: (schemas: readonly unknown[]) => SchemaPlace<Facts>
  readonly #parts: readonly Keywords[]
  readonly #patterns: readonly Pattern[]
  /** By the names that schemas have: callers can not make it grow. */
  readonly #named = new Map<string, SchemaPlace<Facts>>()
  /** By the patterns that a name matches. */
  readonly #matched = new Map<string, SchemaPlace<Facts>>()
  readonly #items = new Map<number, SchemaPlace<Facts>>()

  constructor(
    parts: readonly Keywords[],
    facts: Facts,
    find: (schemas: readonly unknown[]) => SchemaPlace<Facts>,
  ) {
    this.facts = facts
    this.isUnknown = parts.length === 0
    this.#find = find
    this.#parts = parts
    const patterns = parts.flatMap((part) => Object.keys(toSchemas(part['patternProperties'])))
    this.#patterns = [...new Set(patterns)].map((name) => ({ name, regex: new RegExp(name, 'u') }))
  }

  /** Returns the place of a property of the value. */
  property(name: string): SchemaPlace<Facts> {
    const isNamed = this.#parts.some((part) => Object.hasOwn(toSchemas(part['properties']), name))
    const matching = this.#patterns.filter(({ regex }) => regex.test(name)).map((one) => one.name)
    const places = isNamed ? this.#named : this.#matched
    const key = isNamed ? name : matching.join('\n')
    return this.#remember(places, key, () =>
      this.#parts.flatMap((part) => toPropertySchemas(part, name, matching)),
    )
  }

  /** Returns the place of an item of the value. */
  item(index: number): SchemaPlace<Facts> {
    const longest = Math.max(0, ...this.#parts.map((part) => toPrefix(part).length))
    const key = Math.min(index, longest)
    return this.#remember(this.#items, key, () =>
      this.#parts.map((part) => toItemSchema(part, key)),
    )
  }

  #remember<Key>(
    places: Map<Key, SchemaPlace<Facts>>,
    key: Key,
    schemas: () => readonly unknown[],
  ): SchemaPlace<Facts> {
    const known = places.get(key)
    if (known !== undefined) return known
    const place = this.#find(schemas())
    places.set(key, place)
    return place
  }
}

/** Adds a schema, and those in it that hold for the same value, in their order. */
function addParts(schema: unknown, parts: Set<Keywords>, findReference: FindReference): void {
  if (schema === true) parts.add(ANYTHING)
  if (!isObject(schema) || parts.has(schema)) return
  parts.add(schema)
  for (const inner of toInPlace(schema, findReference)) addParts(inner, parts, findReference)
}

/** Returns the schemas in one that hold for the same value, or may. */
export function toInPlace(schema: Keywords, findReference: FindReference): readonly unknown[] {
  const { $ref } = schema
  return [
    typeof $ref === 'string' ? findReference($ref) : undefined,
    ...LISTS_IN_PLACE.flatMap((keyword) => schema[keyword]),
    ...SCHEMAS_IN_PLACE.map((keyword) => schema[keyword]),
    ...Object.values(toSchemas(schema['dependentSchemas'])),
  ]
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

/** Returns the schemas that a keyword has by names, none where it is not there. */
export function toSchemas(value: unknown): Keywords {
  return isObject(value) ? value : {}
}
