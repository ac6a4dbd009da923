import type { OperatorPlace } from '../../checked-query.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../json-schema.ts'
import { followPointer } from '../schema-references.ts'

/** A schema together with the one that references in it start from. */
interface Located {
  readonly schema: Keywords
  readonly root: Keywords
}

/** Keywords with a list of schemas for one and the same value. */
const JOINING = ['allOf', 'anyOf', 'oneOf']

/** What a schema names for values that are no objects and no lists. */
const NOTHING: OperatorPlace = { names: new Map(), items: undefined }

/**
 * Returns the operators that the schema of a query names, each at its place. It reads `properties`,
 * `items` and `prefixItems`, what `allOf`, `anyOf` and `oneOf` join, and references that start with
 * `#`; nothing is named by a schema that can not be read, by `patternProperties`, or by
 * `additionalProperties`. A schema that contains itself gives places that do so, too.
 */
export function readOperatorPlaces(schema: JSONSchema): OperatorPlace {
  if (!isPlainObject(schema)) return NOTHING
  return new PlaceReader().read([{ schema, root: schema }])
}

class PlaceReader {
  /** The place of each group of schemas. With it, reading a schema that contains itself ends. */
  readonly #places = new Map<string, OperatorPlace>()
  readonly #ids = new Map<object, number>()

  read(given: readonly Located[]): OperatorPlace {
    const schemas = expand(given)
    const key = this.#toKey(schemas)
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const properties = groupProperties(schemas)
    const items = schemas.flatMap(toItems)
    if (properties.size === 0 && items.length === 0) return NOTHING
    const names = new Map<string, OperatorPlace>()
    const place: { names: typeof names; items: OperatorPlace | undefined } = {
      names,
      items: undefined,
    }
    this.#places.set(key, place)
    for (const [name, values] of properties) names.set(name, this.read(values))
    if (items.length > 0) place.items = this.read(items)
    return place
  }

  #toKey(schemas: readonly Located[]): string {
    const pairs = schemas.map(({ schema, root }) => `${this.#toId(schema)}:${this.#toId(root)}`)
    return pairs.sort().join()
  }

  #toId(object: object): number {
    const id = this.#ids.get(object) ?? this.#ids.size
    this.#ids.set(object, id)
    return id
  }
}

/** Returns the schemas with all that apply to the same value as they do. */
function expand(given: readonly Located[]): readonly Located[] {
  const found = new Map<Keywords, Located>()
  const add = ({ schema, root }: Located): void => {
    if (found.has(schema)) return
    found.set(schema, { schema, root })
    const joined = JOINING.flatMap((name) => toSchemas(schema[name], root))
    for (const one of [...joined, ...resolve(schema['$ref'], root)]) add(one)
  }
  for (const one of given) add(one)
  return [...found.values()]
}

function groupProperties(schemas: readonly Located[]): ReadonlyMap<string, readonly Located[]> {
  const groups = new Map<string, Located[]>()
  for (const { schema, root } of schemas) {
    const { properties } = schema
    for (const [name, value] of Object.entries(isPlainObject(properties) ? properties : {})) {
      if (value === false) continue
      groups.set(name, [...(groups.get(name) ?? []), ...toSchemas([value], root)])
    }
  }
  return groups
}

function toItems({ schema: { items, prefixItems }, root }: Located): readonly Located[] {
  return [...toSchemas([items].flat(), root), ...toSchemas(prefixItems, root)]
}

/** Schemas with a name are where their references start, too. */
function toSchemas(list: unknown, root: Keywords): readonly Located[] {
  if (!Array.isArray(list)) return []
  return list
    .filter(isPlainObject)
    .map((schema) => ({ schema, root: schema['$id'] === undefined ? root : schema }))
}

/** Returns what a reference leads to, nothing for those that lead out of the schema. */
function resolve(reference: unknown, root: Keywords): readonly Located[] {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return []
  return toSchemas([followPointer(root, reference.slice(1))], root)
}
