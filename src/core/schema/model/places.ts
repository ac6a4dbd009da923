import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from './keywords.ts'
import {
  getOrAdd,
  listSchemas,
  OTHER_PROPERTIES,
  SAME_VALUE,
  toNamedSchemas,
  toPrefixItems,
} from './keywords.ts'

/** The keywords of the schema `true`. */
const ANYTHING: Keywords = {}

/**
 * A JSON Schema with linked references, by the places of the data that it describes. A place has all schemas
 * that apply to its value, or may apply. There is one place per group of schemas: if a schema contains
 * itself, its places lead back to one another.
 */
export class SchemaModel {
  /** The place of the whole data. */
  readonly root: Place
  readonly #sameValue: readonly string[]
  readonly #places = new Map<string, Place>()
  readonly #ids = new Map<unknown, number>()

  /** @param sameValue the keywords that lead to other schemas of the same value. Default: all */
  constructor(root: JSONSchema, sameValue: readonly string[] = SAME_VALUE) {
    this.#sameValue = sameValue
    this.root = this.place([root])
  }

  /** Returns the place whose value some schemas describe. */
  place(schemas: readonly unknown[]): Place {
    const given = [...new Set(schemas)].filter((schema) => schema === true || isObject(schema))
    const key = given.map((schema) => this.#toId(schema)).join()
    return getOrAdd(this.#places, key, () => {
      const parts = new Set<Keywords>()
      for (const schema of given) this.#addParts(schema, parts)
      return new Place(this, given, [...parts])
    })
  }

  /** Adds a schema, and those inside it that apply to the same value, in order. */
  #addParts(schema: unknown, parts: Set<Keywords>): void {
    if (schema === true) parts.add(ANYTHING)
    if (!isObject(schema) || parts.has(schema)) return
    parts.add(schema)
    for (const keyword of this.#sameValue) {
      for (const inner of listSchemas(schema, keyword)) this.#addParts(inner, parts)
    }
  }

  #toId(schema: unknown): number {
    return getOrAdd(this.#ids, schema, () => this.#ids.size)
  }
}

/** One place of the data. */
export class Place {
  /** The schemas that are named for the place. */
  readonly given: readonly unknown[]
  /**
   * The given schemas, and all inside them that apply to the same value: a value may fit only some of them.
   */
  readonly parts: readonly Keywords[]
  readonly #model: SchemaModel
  #patterns: readonly string[] | undefined
  /** By the names in schemas: callers cannot make it grow. */
  readonly #named = new Map<string, Place>()
  /** By the patterns that a name matches. */
  readonly #matched = new Map<string, Place>()
  readonly #items = new Map<number, Place>()
  #prefixLength: number | undefined

  constructor(model: SchemaModel, given: readonly unknown[], parts: readonly Keywords[]) {
    this.#model = model
    this.given = given
    this.parts = parts
  }

  /** Whether no schema describes the values or their contents. */
  get isUnknown(): boolean {
    return this.parts.length === 0
  }

  /** Returns all schemas of a keyword in the parts. */
  schemas(keyword: string): readonly unknown[] {
    return this.parts.flatMap((part) => listSchemas(part, keyword))
  }

  /** Like {@link schemas}, for a keyword with schemas by name. */
  namedSchemas(keyword: string): ReadonlyMap<string, readonly unknown[]> {
    const groups = new Map<string, unknown[]>()
    for (const part of this.parts) {
      for (const [name, schema] of Object.entries(toNamedSchemas(part[keyword]))) {
        groups.set(name, [...(groups.get(name) ?? []), schema])
      }
    }
    return groups
  }

  /** Returns the place of a property of the value. */
  property(name: string): Place {
    const known = this.#named.get(name)
    if (known !== undefined) return known
    this.#patterns ??= [...this.namedSchemas('patternProperties').keys()]
    const matching = this.#patterns.filter((pattern) => matchesPattern(name, pattern))
    const isNamed = this.parts.some((part) => hasProperty(part, name))
    // Callers choose the names: names that lead to a known place add nothing.
    const [places, key] = isNamed ? [this.#named, name] : [this.#matched, matching.join('\n')]
    return getOrAdd(places, key, () =>
      this.#model.place(this.parts.flatMap((part) => toPropertySchemas(part, name, matching))),
    )
  }

  /** Returns the place of an item of the value. */
  item(index: number): Place {
    this.#prefixLength ??= Math.max(0, ...this.parts.map((part) => toPrefix(part).length))
    const key = Math.min(index, this.#prefixLength)
    return getOrAdd(this.#items, key, () =>
      this.#model.place(
        this.parts.map((part) => toPrefix(part)[key] ?? toPrefixItems(part)['items']),
      ),
    )
  }
}

/** Returns a function that computes something for each place once, on first use. */
export function oncePerPlace<Facts>(read: (place: Place) => Facts): (place: Place) => Facts {
  const known = new Map<Place, Facts>()
  return (place) => getOrAdd(known, place, () => read(place))
}

/**
 * Returns a function that reads each place once into an object that may lead back to itself: it is known
 * before it is filled.
 */
export function createPlaceReader<Facts>(
  create: () => Facts,
  fill: (facts: Facts, place: Place) => void,
): (place: Place) => Facts {
  const known = new Map<Place, Facts>()
  return (place) => {
    const isKnown = known.has(place)
    const facts = getOrAdd(known, place, create)
    if (!isKnown) fill(facts, place)
    return facts
  }
}

/** Whether a schema names a property, or has a pattern for it. */
export function namesProperty(schema: Keywords, name: string): boolean {
  if (hasProperty(schema, name)) return true
  const patterns = Object.keys(toNamedSchemas(schema['patternProperties']))
  return patterns.some((pattern) => matchesPattern(name, pattern))
}

function hasProperty(schema: Keywords, name: string): boolean {
  return Object.hasOwn(toNamedSchemas(schema['properties']), name)
}

/** The patterns of schemas, compiled once, since each call checks fields with them. */
const PATTERNS = new Map<string, RegExp>()

function matchesPattern(name: string, pattern: string): boolean {
  return getOrAdd(PATTERNS, pattern, () => new RegExp(pattern, 'u')).test(name)
}

function toPropertySchemas(part: Keywords, name: string, matching: readonly string[]): unknown[] {
  const patterns = toNamedSchemas(part['patternProperties'])
  const schemas = [
    ...(hasProperty(part, name) ? [toNamedSchemas(part['properties'])[name]] : []),
    ...matching.flatMap((pattern) => (Object.hasOwn(patterns, pattern) ? [patterns[pattern]] : [])),
  ]
  return schemas.length > 0 ? schemas : OTHER_PROPERTIES.map((keyword) => part[keyword])
}

/** Returns the schemas of the first items. */
function toPrefix(part: Keywords): readonly unknown[] {
  const { prefixItems } = toPrefixItems(part)
  return Array.isArray(prefixItems) ? prefixItems : []
}
