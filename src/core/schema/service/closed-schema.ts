import type { JSONSchema } from '../../services/service-schemas.ts'
import type { Keywords } from '../model/keywords.ts'
import { hasKeywords, mapSchema, OTHER_PROPERTIES, SAME_VALUE } from '../model/keywords.ts'
import { SchemaModel } from '../model/places.ts'

/** Keywords that name the properties of an object. */
const NAMING = ['properties', 'patternProperties']

/** Keywords whose schemas describe the same value, but for the one that refers to them. */
const INLINE = SAME_VALUE.filter((keyword) => keyword !== '$ref')

/** Keywords whose schemas describe no value that is sent. */
const NO_VALUE = ['not', 'contains', 'propertyNames']

/** Keywords by which a definition is referred to: its copy has another name. */
const NAMES = ['$id', '$anchor', '$defs', 'definitions']

/**
 * Returns a copy of a schema in which every object that says nothing of further properties has none:
 * a field that no schema names is refused.
 */
export function toClosedSchema(schema: JSONSchema): JSONSchema {
  if (!hasKeywords(schema)) return schema
  return new SchemaCloser(schema).closeRoot(schema)
}

/** Closes one schema. What stands in it several times is one object in the copy as well. */
class SchemaCloser {
  readonly #model: SchemaModel
  readonly #closed = new Map<unknown, unknown>()
  readonly #closedInside = new Map<unknown, unknown>()
  /** The names of the definitions that are a part of others, and stay open for these to close. */
  readonly #openNames = new Map<unknown, string>()
  readonly #openParts = new Map<string, unknown>()

  constructor(root: Keywords) {
    this.#model = new SchemaModel(root)
  }

  closeRoot(root: Keywords): JSONSchema {
    const closed = this.#close(root) as Keywords
    if (this.#openParts.size === 0) return closed
    const $defs = { ...(closed['$defs'] as object), ...Object.fromEntries(this.#openParts) }
    return { ...closed, $defs }
  }

  readonly #close = (schema: unknown): unknown => {
    return remember(this.#closed, schema, (keywords) => {
      const isUnion = isOnlyUnion(keywords)
      const isJoined = this.#isJoined(keywords)
      const copy = mapSchema(keywords, (inner, keyword) => {
        if (NO_VALUE.includes(keyword)) return inner
        // Each alternative of a union is closed by itself: its error names the field.
        const isSame = INLINE.includes(keyword) && !isUnion
        return isSame ? this.#closeInside(inner) : this.#close(inner)
      })
      if (isJoined) Object.assign(copy, this.#toOpenReference(keywords))
      const saysMore = OTHER_PROPERTIES.some((keyword) => keywords[keyword] !== undefined)
      if (isUnion || saysMore || !this.#describesObject(keywords)) return copy
      if (!isJoined) return isReference(keywords) ? copy : { ...copy, additionalProperties: false }
      return { type: 'object', ...copy, unevaluatedProperties: false }
    })
  }

  /** Closes the objects inside of a value, and leaves the value itself open for others to close. */
  #closeInside(schema: unknown): unknown {
    return remember(this.#closedInside, schema, (keywords) => ({
      ...mapSchema(keywords, (inner, keyword) => {
        if (NO_VALUE.includes(keyword)) return inner
        return INLINE.includes(keyword) ? this.#closeInside(inner) : this.#close(inner)
      }),
      ...this.#toOpenReference(keywords),
    }))
  }

  /** Whether a value is described by several schemas together. */
  #isJoined(keywords: Keywords): boolean {
    if (INLINE.some((keyword) => keywords[keyword] !== undefined)) return true
    return isReference(keywords) && keywords['properties'] !== undefined
  }

  /** Returns the keyword `$ref` for an open copy of what a schema refers to. */
  #toOpenReference({ $ref }: Keywords): { readonly $ref?: string } {
    const target = typeof $ref === 'string' ? this.#model.find($ref) : undefined
    if (!hasKeywords(target)) return {}
    const known = this.#openNames.get(target)
    const name = known ?? `open-${this.#openNames.size}`
    if (known === undefined) {
      // Before its copy is made: it may contain itself.
      this.#openNames.set(target, name)
      const unnamed = Object.entries(target).filter(([keyword]) => !NAMES.includes(keyword))
      this.#openParts.set(name, this.#closeInside(Object.fromEntries(unnamed)))
    }
    return { $ref: `#/$defs/${name}` }
  }

  #describesObject(schema: Keywords): boolean {
    const { parts } = this.#model.place([schema])
    return parts.some((part) => NAMING.some((keyword) => part[keyword] !== undefined))
  }
}

function remember(
  copies: Map<unknown, unknown>,
  schema: unknown,
  copy: (keywords: Keywords) => unknown,
): unknown {
  if (!hasKeywords(schema)) return schema
  const known = copies.get(schema)
  if (known !== undefined) return known
  const made = copy(schema)
  copies.set(schema, made)
  return made
}

function isReference({ $ref }: Keywords): boolean {
  return typeof $ref === 'string'
}

/** Whether a schema is nothing but a choice of others. */
function isOnlyUnion(schema: Keywords): boolean {
  const isChoice = schema['anyOf'] !== undefined || schema['oneOf'] !== undefined
  const describesMore = ['properties', 'allOf', '$ref'].some((name) => schema[name] !== undefined)
  return isChoice && !describesMore
}
