import type { JSONSchema } from '../../service-schemas.ts'
import type { Keywords } from '../json-schema.ts'
import { hasKeywords, mapSchema } from '../map-schema.ts'

/** Keywords by which an author says what holds for properties that are not named. */
const SAYS_MORE = ['additionalProperties', 'unevaluatedProperties', 'patternProperties']

/** Keywords whose schemas describe the same value as the schema that they stand in. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas']

/** Keywords whose schemas describe no value that is sent. */
const NO_VALUE = ['not', 'contains', 'propertyNames']

/** The definitions that are a part of another schema, as `#/$defs/Name`. */
type Parts = ReadonlySet<unknown>

/**
 * Returns a copy of a schema in which every object that says nothing of further properties has none:
 * a field that no schema names is refused.
 */
export function toClosedSchema(schema: JSONSchema): JSONSchema {
  const closed = new Closing(findParts(schema)).close(schema) as JSONSchema
  return hasKeywords(closed) && isDraft7(closed) ? { ...closed, $schema: DRAFT_2019 } : closed
}

/** The first dialect that can close what is put together of parts; the older one is nearly a part of it. */
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'

function isDraft7({ $schema }: Keywords): boolean {
  return /^http:\/\/json-schema\.org\/draft-07\/schema#?$/.test(String($schema))
}

/** Closes one schema. What stands in it several times is one object in the copy as well. */
class Closing {
  readonly #parts: Parts
  readonly #closed = new Map<unknown, unknown>()
  readonly #closedInside = new Map<unknown, unknown>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  close(schema: unknown): unknown {
    return remember(this.#closed, schema, (keywords) => {
      const isUnion = isOnlyUnion(keywords)
      const copy = mapSchema(keywords, (inner, keyword, name) => {
        if (NO_VALUE.includes(keyword)) return inner
        const isPart = this.#parts.has(`#/${keyword}/${name}`)
        // Each alternative of a union is closed by itself: its error names the field.
        const isSame = SAME_VALUE.includes(keyword) && !isUnion
        return isPart || isSame ? this.#closeInside(inner) : this.close(inner)
      })
      const saysMore = SAYS_MORE.some((keyword) => keywords[keyword] !== undefined)
      if (isUnion || saysMore || !describesObject(keywords)) return copy
      const isJoined = SAME_VALUE.some((keyword) => keywords[keyword] !== undefined)
      if (!isJoined) return { ...copy, additionalProperties: false }
      return { type: 'object', ...copy, unevaluatedProperties: false }
    })
  }

  /** Closes the objects inside of a value, and leaves the value itself open for others to close. */
  #closeInside(schema: unknown): unknown {
    return remember(this.#closedInside, schema, (keywords) =>
      mapSchema(keywords, (inner, keyword) => {
        if (NO_VALUE.includes(keyword)) return inner
        return SAME_VALUE.includes(keyword) ? this.#closeInside(inner) : this.close(inner)
      }),
    )
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

/** Whether a schema is nothing but a choice of others. */
function isOnlyUnion(schema: Keywords): boolean {
  const isChoice = schema['anyOf'] !== undefined || schema['oneOf'] !== undefined
  return isChoice && schema['properties'] === undefined && schema['allOf'] === undefined
}

function describesObject(schema: unknown): boolean {
  if (!hasKeywords(schema)) return false
  if (schema['properties'] !== undefined) return true
  return SAME_VALUE.some((keyword) => [schema[keyword]].flat().some(describesObject))
}

/** Finds what is referred to where a part of a value is described. */
function findParts(schema: unknown, parts: Set<unknown> = new Set()): Parts {
  if (!hasKeywords(schema)) return parts
  const isUnion = isOnlyUnion(schema)
  mapSchema(schema, (inner, keyword) => {
    const isPart = SAME_VALUE.includes(keyword) && !isUnion && hasKeywords(inner)
    if (isPart && inner['$ref'] !== undefined) parts.add(inner['$ref'])
    findParts(inner, parts)
    return inner
  })
  return parts
}
