import { SchemaError } from '../../errors/setup-errors.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from './keywords.ts'
import {
  createCopier,
  DEFINITIONS,
  getOrAdd,
  hasKeywords,
  mapSchema,
  toNamedSchemas,
  visitSchemas,
} from './keywords.ts'

/** The base URI of references in a schema without an absolute `$id`. */
const BASE = 'schema://here/'

/**
 * Returns a schema in which each `$ref` is the referenced schema itself instead of its name, so that code
 * that reads or changes schemas reaches it like any other part. A reference out of the schema stays a string.
 * {@link writeReferences} turns the result into JSON Schema again. A schema without references stays the same
 * object.
 * @param options `isStrict`: whether a reference from a part with an `$id` must be found in that part, as in
 *   JSON Schema. Default: `false`, since authors mean the definitions of the whole
 * @throws {TypeError} two different schemas have the same `$id`
 */
export function linkReferences(
  root: JSONSchema,
  { isStrict = false }: { readonly isStrict?: boolean } = {},
): JSONSchema {
  if (!hasKeywords(root)) return root
  const { named, bases, hasReferences } = readNames(root)
  if (!hasReferences) return root
  /** They copy each schema once for a base URI. */
  const copiers = new Map<string, (schema: unknown) => unknown>()
  const copySchema = (schema: unknown, outer: string, name?: string): unknown => {
    if (!hasKeywords(schema)) return schema
    const base = bases.get(schema) ?? outer
    const copyPart = (part: unknown, keyword: string) =>
      keyword === '$ref' ? follow(part, base) : copySchema(part, base)
    const copier = getOrAdd(copiers, base, () => createCopier((one) => mapSchema(one, copyPart)))
    const copy = copier(schema) as Record<string, unknown>
    // The name that refers to it, if it does not have one.
    if (name !== undefined && NAMES.every((one) => schema[one] === undefined))
      copy['$anchor'] ??= name
    return copy
  }
  /** Returns the target of a reference; the reference itself if it leads out of the schema. */
  const follow = (reference: unknown, base: string): unknown => {
    if (typeof reference !== 'string') return reference
    const [path = '', fragment = ''] = reference.split('#')
    const target = resolveUri(path, base)
    const whole = named.get(target)
    if (whole === undefined) return reference
    const meant = findPart(whole, fragment)
    const name = lastWord(decodePointer(fragment)) ?? 'record'
    if (isSchema(meant)) return copySchema(meant, target, name)
    if (isStrict) return `${target}#${fragment}`
    const ofRoot = findPart(root, fragment)
    return isSchema(ofRoot) ? copySchema(ofRoot, bases.get(root) ?? BASE, name) : reference
  }
  return copySchema(root, BASE) as Keywords
}

/** Returns the schemas with an `$id` in a root schema, by full `$id`, and their base URIs. */
function readNames(root: Keywords) {
  const named = new Map<string, Keywords>()
  const bases = new Map<Keywords, string>()
  const seen = new Set<Keywords>()
  let hasReferences = false
  const read = (schema: unknown, outer: string): void => {
    if (!hasKeywords(schema) || seen.has(schema)) return
    seen.add(schema)
    const id = String(schema['$id']).replace(/#$/, '')
    const base = hasId(schema) ? resolveUri(id, outer) : outer
    if (schema === root || hasId(schema)) {
      checkSame(
        getOrAdd(named, base, () => schema),
        schema,
      )
      bases.set(schema, base)
    }
    hasReferences ||= typeof schema['$ref'] === 'string'
    mapSchema(schema, (inner) => read(inner, base))
  }
  read(root, BASE)
  return { named, bases, hasReferences }
}

function isSchema(value: unknown): boolean {
  return hasKeywords(value) || typeof value === 'boolean'
}

/** Whether a schema has its own name. In draft-07, an `$id` that begins with `#` is an anchor. */
function hasId({ $id }: Keywords): boolean {
  return typeof $id === 'string' && !$id.startsWith('#')
}

function checkSame(one: Keywords, other: Keywords): void {
  if (one === other || JSON.stringify(one) === JSON.stringify(other)) return
  const name = String(one['$id'])
  throw new SchemaError(`two different schemas have the $id '${name}': give one of them another`)
}

/** @see RFC 3986 §5.2 */
function resolveUri(reference: string, base: string): string {
  if (reference === '') return base
  return URL.canParse(reference, base) ? new URL(reference, base).href : reference
}

/** Returns the target of a reference's fragment in a schema, `undefined` for none. */
function findPart(schema: Keywords, fragment: string): unknown {
  if (fragment === '' || fragment.startsWith('/')) return followPointer(schema, fragment)
  let found: unknown
  visitSchemas(schema, (part) => {
    if (part['$anchor'] === fragment || part['$id'] === `#${fragment}`) found ??= part
  })
  return found
}

/** @see RFC 6901 §4, §6 */
function followPointer(schema: unknown, pointer: string): unknown {
  let found = schema
  for (const part of pointer === '' ? [] : pointer.slice(1).split('/')) {
    const name = decodePointer(part)
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined
  }
  return found
}

function decodePointer(part: string): string {
  // A `%` that encodes nothing is taken literally: authors forget to encode the names of definitions.
  const decoded = /%(?![\da-f]{2})/i.test(part) ? part : decodeURIComponent(part)
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Keywords that name a schema, or a place in it. Written references use neither. */
const NAMES = ['$anchor', '$id']

/** Keywords that only the root schema has. */
const OF_DOCUMENTS: ReadonlySet<string> = new Set([...NAMES, '$schema', ...DEFINITIONS])

/** Keywords that make a schema worth writing only once: the code of others is one comparison. */
const LARGE: readonly string[] = ['properties', 'anyOf', 'oneOf', 'allOf']

/** How references are written. */
interface WritingOptions {
  /**
   * Whether large parts that are the same object are written once, with references to them. Otherwise Ajv
   * generates code for each place: for the conditions of a query, which also occur in `$or` and `$and`, it
   * takes ten times as long. Default: `false`.
   */
  readonly sharesParts?: boolean
  /** Returns the reference to the schema itself, or to one of its definitions. Default: `#/$defs/…`. */
  readonly toReference?: (definition?: readonly [keyword: string, name: string]) => string
}

/** Keywords that a schema may have next to `$ref` and still be only a reference. */
const BESIDE = new Set([...OF_DOCUMENTS, '$ref', '$comment', 'title', 'description', 'type'])

/** Returns the keywords of a record's schema, even if it is only a reference. */
export function toRecordSchema(schema: Keywords): Keywords {
  const { $ref, ...others } = schema
  const isReference = hasKeywords($ref) && Object.keys(others).every((one) => BESIDE.has(one))
  return isReference ? { ...$ref, ...others } : schema
}

/**
 * Returns a schema of {@link linkReferences} as JSON Schema. Referenced schemas become definitions of the
 * root schema, and parts have no other names.
 */
export function writeReferences(
  root: JSONSchema,
  { sharesParts = false, toReference = toLocal }: WritingOptions = {},
): JSONSchema {
  if (!hasKeywords(root)) return root
  const definitions: Definitions = new Map()
  const names = new Set<string>()
  for (const keyword of DEFINITIONS) {
    for (const [name, definition] of Object.entries(toNamedSchemas(root[keyword]))) {
      definitions.set(definition, [keyword, name])
      names.add(name)
    }
  }
  const shared = sharesParts ? findShared(root, definitions) : new Set()
  const copies = new Map<Keywords, unknown>()
  const refer = (target: unknown): string => {
    if (target === root) return toReference()
    return toReference(
      getOrAdd(definitions, target, () => ['$defs', addFreeName(target, names)] as const),
    )
  }
  /** Returns the keywords of a schema, the same object in each of its places. */
  const write = (schema: unknown): unknown => {
    if (!hasKeywords(schema)) return schema
    return getOrAdd(copies, schema, () => {
      const kept = Object.entries(schema).filter(([keyword]) => !OF_DOCUMENTS.has(keyword))
      return mapSchema(Object.fromEntries(kept), (inner, keyword) => {
        if (keyword === '$ref') return typeof inner === 'string' ? inner : refer(inner)
        return shared.has(inner) ? { $ref: refer(inner) } : write(inner)
      })
    })
  }
  const written = { ...(write(root) as object) } as Record<string, unknown>
  for (const keyword of OF_DOCUMENTS) {
    const value = root[keyword]
    if (value === undefined || keyword === '$anchor') continue
    written[keyword] = DEFINITIONS.includes(keyword)
      ? mapSchema({ [keyword]: value }, write)[keyword]
      : value
  }
  // Written definitions may refer to others, which are appended to the map.
  for (const [definition, [keyword, name]] of definitions) {
    if (Object.hasOwn(toNamedSchemas(root[keyword]), name)) continue
    written[keyword] = { ...(written[keyword] as object), [name]: write(definition) }
  }
  return written
}

/** The keyword and the name of each definition. */
type Definitions = Map<unknown, readonly [keyword: string, name: string]>

/** Returns the large parts that occur in several places, which are written as references. */
function findShared(root: Keywords, definitions: Definitions): ReadonlySet<unknown> {
  const known = new Set(definitions.keys())
  const shared = new Set<unknown>()
  const visit = (part: unknown, keyword: string): void => {
    if (!hasKeywords(part) || keyword === '$ref' || DEFINITIONS.includes(keyword)) return
    const isLarge = LARGE.some((one) => part[one] !== undefined)
    if (known.has(part) && part !== root && isLarge) shared.add(part)
    known.add(part)
  }
  visitSchemas(root, (schema) => mapSchema(schema, visit))
  return shared
}

function addFreeName(target: unknown, taken: Set<string>): string {
  const { $anchor, $id = '' } = hasKeywords(target) ? target : {}
  const word = lastWord(String($anchor ?? $id)) ?? 'part'
  let name = word
  for (let count = 2; taken.has(name); count += 1) name = `${word}${count}`
  taken.add(name)
  return name
}

function toLocal(definition?: readonly [keyword: string, name: string]): string {
  return definition === undefined ? '#' : `#/${definition.map(escapePointer).join('/')}`
}

/** Readers know a schema by the last word of its path. */
function lastWord(path: string): string | undefined {
  const words = path.split(/[/:]/).map((part) => part.replace(/[^\w.-]/g, ''))
  return words.findLast((part) => part !== '')
}

/** Returns a name, escaped for a JSON pointer inside a URI. @see RFC 6901 §6 */
function escapePointer(key: string): string {
  // The dollar of `$defs` is allowed in a fragment, and reads better unescaped.
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('%24', '$')
}
