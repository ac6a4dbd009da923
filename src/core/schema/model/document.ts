import type { JSONSchema } from '../../services/service-schemas.ts'
import type { Keywords } from './keywords.ts'
import {
  DEFINITIONS,
  followPointer,
  hasKeywords,
  indexReferences,
  mapSchema,
  someSchema,
  visitSchemas,
} from './keywords.ts'

/** Where the references of a schema without an absolute `$id` start from. */
const BASE = 'schema://here/'

/** Keywords that name a schema, or a place in it. */
const NAMES: readonly string[] = ['$id', '$anchor']

/** Keywords that may stand beside the reference of a schema that is nothing but that. */
const BESIDE: ReadonlySet<string> = new Set([
  ...['$ref', '$id', '$schema', '$comment', 'title', 'description', 'type', ...DEFINITIONS],
])

/** How references are read. */
export interface DocumentOptions {
  /**
   * Whether a reference from a part with an `$id` to what that part lacks leads nowhere, as JSON Schema has it.
   * Default: `false`, it is looked for in the whole: authors mean its definitions.
   */
  readonly isStrict?: boolean
}

/**
 * Returns a schema that accepts the same, in which no schema has an `$id` but the outermost one: what is
 * referred to by such an `$id` becomes one of its definitions. One schema may then stand in it several
 * times, and parts of it elsewhere. Returns the schema itself if there is nothing to change.
 * @throws {TypeError} two different schemas have the same `$id`
 */
export function toOneDocument<S extends JSONSchema>(
  schema: S,
  options?: DocumentOptions,
): S | Keywords {
  return hasKeywords(schema) ? new Embedding(schema, options).toDocument() : schema
}

/**
 * Returns the schema of a record as one document of which each property can stand elsewhere: references
 * to the record and to parts of it lead to definitions. The keywords of the record are at the top, also
 * where there is nothing but a reference to a definition.
 * @throws {TypeError} two different schemas have the same `$id`
 */
export function toRecordSchema(schema: Keywords): Keywords {
  const document = toOneDocument(refersToItself(schema) ? toDefinition(schema) : schema) as Keywords
  const { $ref, ...others } = document
  const isReference = typeof $ref === 'string' && $ref.startsWith('#/')
  if (!isReference || !Object.keys(document).every((keyword) => BESIDE.has(keyword)))
    return document
  const record = followPointer(document, $ref.slice(1))
  return hasKeywords(record) ? { ...record, ...others } : document
}

/** References to a property, and by an `$anchor`. */
const TO_PART = /^#(?:\/properties\/|[^/])/

/** Whether a reference leads to the whole schema, or to a part that may be none of its definitions. */
function refersToItself(root: Keywords): boolean {
  const find = indexReferences(root)
  return someSchema(
    root,
    ({ $ref }) => typeof $ref === 'string' && (find($ref) === root || TO_PART.test($ref)),
  )
}

function toDefinition(schema: Keywords): Keywords {
  const { $id = 'record' } = schema
  return { $ref: $id, $defs: { record: { ...schema, $id } } }
}

/** A schema with others in it that have an `$id`. */
class Embedding {
  readonly #root: Keywords
  readonly #rootBase: string
  readonly #isStrict: boolean
  /** The schemas that have an `$id`, by the whole of it. */
  readonly #named = new Map<string, Keywords>()
  /** The copy of each schema, by where its references start from. */
  readonly #copies = new Map<string, Map<Keywords, unknown>>()
  /** Where the definitions are that are referred to. */
  readonly #places = new Map<unknown, string>()
  readonly #added = new Map<string, unknown>()

  constructor(root: Keywords, { isStrict = false }: DocumentOptions = {}) {
    this.#isStrict = isStrict
    this.#root = root
    this.#rootBase = toBase(root, BASE)
    this.#named.set(this.#rootBase, root)
    this.#addNamed(root, this.#rootBase, new Map())
    for (const keyword of DEFINITIONS) {
      for (const [name, schema] of Object.entries(root[keyword] ?? {})) {
        this.#places.set(schema, `#/${keyword}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      }
    }
  }

  toDocument(): Keywords {
    if (this.#named.size === 1) return this.#root
    const copy = this.#copy(this.#root, this.#rootBase) as Keywords
    if (this.#added.size === 0) return copy
    return { ...copy, $defs: { ...(copy['$defs'] as object), ...Object.fromEntries(this.#added) } }
  }

  #addNamed(schema: Keywords, base: string, seen: Map<Keywords, string>): void {
    if (seen.get(schema) === base) return
    seen.set(schema, base)
    mapSchema(schema, (inner) => {
      if (!hasKeywords(inner)) return inner
      const own = toBase(inner, base)
      if (hasId(inner)) {
        const known = this.#named.get(own) ?? inner
        checkSame(known, inner)
        this.#named.set(own, known)
      }
      this.#addNamed(inner, own, seen)
      return inner
    })
  }

  #copy(schema: unknown, outer: string): unknown {
    if (!hasKeywords(schema)) return schema
    const base = toBase(schema, outer)
    const copies = this.#copies.get(base) ?? new Map<Keywords, unknown>()
    this.#copies.set(base, copies)
    const known = copies.get(schema)
    if (known !== undefined) return known
    const given = schema === this.#root ? schema : withoutNamed(schema)
    const copy = mapSchema(given, (inner) => this.#copy(inner, base))
    if (base !== this.#rootBase) for (const name of NAMES) delete copy[name]
    const { $ref } = copy
    if (typeof $ref === 'string') copy['$ref'] = this.#toReference($ref, base)
    copies.set(schema, copy)
    return copy
  }

  /** Returns what a reference is in the whole; the same if it leads out of it. */
  #toReference(reference: string, base: string): string {
    const [path = '', fragment = ''] = reference.split('#')
    const target = resolveUri(path, base)
    const named = this.#named.get(target)
    if (named === undefined) return reference
    if (named === this.#root) return `#${fragment}`
    const isPointer = fragment === '' || fragment.startsWith('/')
    const meant = isPointer ? followPointer(named, fragment) : findAnchor(named, fragment)
    if (!hasKeywords(meant) && typeof meant !== 'boolean') {
      return this.#isStrict ? `${target}#${fragment}` : reference
    }
    return this.#places.get(meant) ?? this.#addDefinition(meant, target, fragment)
  }

  #addDefinition(meant: unknown, base: string, fragment: string): string {
    const name = this.#toFreeName(`${base}/${fragment}`)
    const place = `#/$defs/${name}`
    // Before its copy is made: it may contain itself.
    this.#places.set(meant, place)
    this.#added.set(name, true)
    this.#added.set(name, this.#copy(meant, base))
    return place
  }

  /** The last word in a path is what readers know a schema by. */
  #toFreeName(path: string): string {
    const words = path.split(/[/:]/).map((part) => part.replace(/[^\w.-]/g, ''))
    const word = words.findLast((part) => part !== '') ?? ''
    const isTaken = (name: string): boolean =>
      this.#added.has(name) || Object.hasOwn(this.#root['$defs'] ?? {}, name)
    let name = word
    for (let count = 2; isTaken(name); count += 1) name = `${word}${count}`
    return name
  }
}

/** Whether a schema has a name of its own. In draft-07, one that begins with `#` is an anchor. */
function hasId({ $id }: Keywords): boolean {
  return typeof $id === 'string' && !$id.startsWith('#')
}

function checkSame(one: Keywords, other: Keywords): void {
  if (one === other || JSON.stringify(one) === JSON.stringify(other)) return
  const name = String(one['$id'])
  throw new TypeError(`two different schemas have the $id '${name}': give one of them another`)
}

/** Returns where the references in a schema start from. */
function toBase(schema: Keywords, outer: string): string {
  return hasId(schema) ? resolveUri(String(schema['$id']).replace(/#$/, ''), outer) : outer
}

/** @see RFC 3986 §5.2 */
function resolveUri(reference: string, base: string): string {
  if (reference === '') return base
  return URL.canParse(reference, base) ? new URL(reference, base).href : reference
}

/** Definitions that have an `$id` are found by it, wherever they stand. */
function withoutNamed(schema: Keywords): Keywords {
  const copy: Record<string, unknown> = { ...schema }
  for (const keyword of DEFINITIONS) {
    if (!hasKeywords(schema[keyword])) continue
    const own = Object.entries(schema[keyword]).filter(
      ([, one]) => !hasKeywords(one) || !hasId(one),
    )
    if (own.length > 0) copy[keyword] = Object.fromEntries(own)
    else delete copy[keyword]
  }
  return copy
}

function findAnchor(root: Keywords, anchor: string): unknown {
  let found: unknown
  visitSchemas(root, (schema) => {
    if (schema['$anchor'] === anchor || schema['$id'] === `#${anchor}`) found ??= schema
  })
  return found
}
