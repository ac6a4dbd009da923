import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from './keywords.ts'
import {
  DEFINITIONS,
  getOrAdd,
  hasKeywords,
  mapSchema,
  toNamedSchemas,
  visitSchemas,
} from './keywords.ts'

/** Where the references of a schema without an absolute `$id` start from. */
const BASE = 'schema://here/'

/** How references are read. */
interface ReferenceOptions {
  /**
   * Whether a reference from a part with an `$id` to what that part lacks leads nowhere, as JSON
   * Schema has it. Default: `false`, it is looked for in the whole: authors mean its definitions.
   */
  readonly isStrict?: boolean
}

/**
 * Returns a schema in which each `$ref` is the schema that it means, and not its name, so that
 * whoever reads or changes a schema comes to it as to any other part. A reference out of the schema
 * stays a string. {@link writeReferences} makes JSON Schema of it again. A schema without references
 * stays the same object.
 * @throws {TypeError} two different schemas have the same `$id`
 */
export function linkReferences(schema: JSONSchema, options?: ReferenceOptions): JSONSchema {
  return hasKeywords(schema) ? new Linking(schema, options).link() : schema
}

/** The copy of one schema whose references are being replaced. */
class Linking {
  readonly #root: Keywords
  readonly #rootBase: string
  readonly #isStrict: boolean
  /** The schemas that have an `$id`, by the whole of it, and where references in them start from. */
  readonly #named = new Map<string, Keywords>()
  readonly #bases = new Map<Keywords, string>()
  /** The copy of each schema, by where its references start from. */
  readonly #copies = new Map<string, Map<Keywords, Record<string, unknown>>>()
  #hasReferences = false

  constructor(root: Keywords, { isStrict = false }: ReferenceOptions = {}) {
    this.#root = root
    this.#isStrict = isStrict
    this.#rootBase = hasId(root) ? toBase(root, BASE) : BASE
    this.#named.set(this.#rootBase, root)
    this.#bases.set(root, this.#rootBase)
    this.#addNamed(root, this.#rootBase, new Set())
  }

  link(): JSONSchema {
    return this.#hasReferences ? (this.#copy(this.#root, BASE) as Keywords) : this.#root
  }

  #addNamed(schema: Keywords, base: string, seen: Set<Keywords>): void {
    if (seen.has(schema)) return
    seen.add(schema)
    this.#hasReferences ||= typeof schema['$ref'] === 'string'
    mapSchema(schema, (inner) => {
      if (!hasKeywords(inner)) return
      const own = hasId(inner) ? (this.#bases.get(inner) ?? toBase(inner, base)) : base
      if (hasId(inner)) {
        checkSame(
          getOrAdd(this.#named, own, () => inner),
          inner,
        )
        this.#bases.set(inner, own)
      }
      this.#addNamed(inner, own, seen)
    })
  }

  #copy(schema: unknown, outer: string, name?: string): unknown {
    if (!hasKeywords(schema)) return schema
    const base = this.#bases.get(schema) ?? outer
    const copies = getOrAdd(this.#copies, base, () => new Map<Keywords, Record<string, unknown>>())
    const known = copies.get(schema)
    const copy = known ?? {}
    if (known === undefined) {
      // Before what is in it is copied: it may contain itself.
      copies.set(schema, copy)
      const inner = mapSchema(schema, (part, keyword) =>
        keyword === '$ref' ? this.#follow(part, base) : this.#copy(part, base),
      )
      Object.assign(copy, inner)
    }
    // What it is called by, where it does not say so itself.
    if (name !== undefined && NAMES.every((one) => schema[one] === undefined))
      copy['$anchor'] ??= name
    return copy
  }

  /** Returns what a reference means; the reference itself if it leads out of the schema. */
  #follow(reference: unknown, base: string): unknown {
    if (typeof reference !== 'string') return reference
    const [path = '', fragment = ''] = reference.split('#')
    const target = resolveUri(path, base)
    const whole = this.#named.get(target)
    if (whole === undefined) return reference
    const meant = findPart(whole, fragment)
    const name = lastWord(decodePointer(fragment)) ?? 'record'
    if (isSchema(meant)) return this.#copy(meant, target, name)
    if (this.#isStrict) return `${target}#${fragment}`
    const ofRoot = findPart(this.#root, fragment)
    return isSchema(ofRoot) ? this.#copy(ofRoot, this.#rootBase, name) : reference
  }
}

function isSchema(value: unknown): boolean {
  return hasKeywords(value) || typeof value === 'boolean'
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

function toBase({ $id }: Keywords, outer: string): string {
  return resolveUri(String($id).replace(/#$/, ''), outer)
}

/** @see RFC 3986 §5.2 */
function resolveUri(reference: string, base: string): string {
  if (reference === '') return base
  return URL.canParse(reference, base) ? new URL(reference, base).href : reference
}

/** Returns what the fragment of a reference means in a schema, `undefined` for nothing. */
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
  return decodePercent(part).replaceAll('~1', '/').replaceAll('~0', '~')
}

/** A `%` that encodes nothing stands for itself: authors forget to encode the names of definitions. */
function decodePercent(part: string): string {
  return /%(?![\da-f]{2})/i.test(part) ? part : decodeURIComponent(part)
}

/** Keywords that name a schema, or a place in it: written references lead by neither of them. */
const NAMES = ['$anchor', '$id']

/** Keywords of the whole alone. */
const OF_DOCUMENTS: ReadonlySet<string> = new Set([...NAMES, '$schema', ...DEFINITIONS])

/** Keywords that make it worth while to write a schema once: the code of others is one comparison. */
const LARGE: readonly string[] = ['properties', 'anyOf', 'oneOf', 'allOf']

/** How references are written. */
interface WritingOptions {
  /**
   * Whether large parts that are one and the same object stand once, with references to them. Ajv writes
   * code for each place otherwise: for the conditions of a query, which stand in `$or` and `$and` as
   * well, it takes ten times as long. Default: `false`.
   */
  readonly sharesParts?: boolean
  /** Returns the reference to the schema itself, or to one of its definitions. Default: `#/$defs/…`. */
  readonly toReference?: (definition?: readonly [keyword: string, name: string]) => string
}

/**
 * Returns a schema of {@link linkReferences} as JSON Schema. What is referred to is one of the
 * definitions of the whole, and no part has a name beside.
 */
export function writeReferences(schema: JSONSchema, options?: WritingOptions): JSONSchema {
  return hasKeywords(schema) ? new Writing(schema, options).write() : schema
}

/** Keywords that may stand beside the reference of a schema that is nothing but that. */
const BESIDE: ReadonlySet<string> = new Set([
  ...['$ref', '$comment', 'title', 'description', 'type', ...OF_DOCUMENTS],
])

/** Returns the keywords of a record, also where its schema is nothing but a reference to them. */
export function toRecordSchema(schema: Keywords): Keywords {
  const { $ref, ...others } = schema
  const isReference = hasKeywords($ref) && Object.keys(others).every((one) => BESIDE.has(one))
  return isReference ? { ...$ref, ...others } : schema
}

class Writing {
  readonly #root: Keywords
  readonly #toReference: NonNullable<WritingOptions['toReference']>
  /** The keyword and the name of each definition. */
  readonly #definitions = new Map<unknown, readonly [keyword: string, name: string]>()
  /** The definitions that are written in every place by a reference. */
  readonly #shared = new Set<unknown>()
  readonly #copies = new Map<Keywords, unknown>()
  readonly #taken: Set<string>

  constructor(root: Keywords, { sharesParts = false, toReference = toLocal }: WritingOptions = {}) {
    this.#root = root
    this.#toReference = toReference
    this.#taken = new Set(DEFINITIONS.flatMap((keyword) => Object.keys(root[keyword] ?? {})))
    for (const keyword of DEFINITIONS) {
      for (const [name, definition] of Object.entries(toNamedSchemas(root[keyword]))) {
        this.#definitions.set(definition, [keyword, name])
      }
    }
    if (sharesParts) this.#findShared()
  }

  write(): JSONSchema {
    const root = this.#root
    const written = { ...(this.#write(root) as object) } as Record<string, unknown>
    for (const keyword of OF_DOCUMENTS) {
      const value = root[keyword]
      if (value === undefined || keyword === '$anchor') continue
      written[keyword] = DEFINITIONS.includes(keyword)
        ? mapSchema({ [keyword]: value }, (one) => this.#write(one))[keyword]
        : value
    }
    // Those that are written may refer to further ones, which come to the end of the map.
    for (const [definition, [keyword, name]] of this.#definitions) {
      if (Object.hasOwn(toNamedSchemas(root[keyword]), name)) continue
      written[keyword] = { ...(written[keyword] as object), [name]: this.#write(definition) }
    }
    return written
  }

  #findShared(): void {
    const known = new Set<unknown>(this.#definitions.keys())
    const visit = (part: unknown, keyword: string): void => {
      if (!hasKeywords(part)) return
      const isPlace = keyword !== '$ref' && !DEFINITIONS.includes(keyword)
      if (isPlace && known.has(part) && part !== this.#root && isLarge(part)) this.#shared.add(part)
      if (isPlace) known.add(part)
    }
    visitSchemas(this.#root, (schema) => mapSchema(schema, visit))
  }

  /** Returns the keywords of a schema, which are the same object in each place of it. */
  #write(schema: unknown): unknown {
    if (!hasKeywords(schema)) return schema
    return getOrAdd(this.#copies, schema, () => {
      const kept = Object.entries(schema).filter(([keyword]) => !OF_DOCUMENTS.has(keyword))
      return mapSchema(Object.fromEntries(kept), (inner, keyword) => {
        if (keyword === '$ref') return typeof inner === 'string' ? inner : this.#refer(inner)
        return this.#shared.has(inner) ? { $ref: this.#refer(inner) } : this.#write(inner)
      })
    })
  }

  #refer(target: unknown): string {
    if (target === this.#root) return this.#toReference()
    const definition = getOrAdd(
      this.#definitions,
      target,
      () => ['$defs', this.#toFreeName(target)] as const,
    )
    return this.#toReference(definition)
  }

  #toFreeName(target: unknown): string {
    const { $anchor, $id = '' } = hasKeywords(target) ? target : {}
    const word = lastWord(String($anchor ?? $id)) ?? 'part'
    let name = word
    for (let count = 2; this.#taken.has(name); count += 1) name = `${word}${count}`
    this.#taken.add(name)
    return name
  }
}

function toLocal(definition?: readonly [keyword: string, name: string]): string {
  return definition === undefined ? '#' : `#/${definition.map(escapePointer).join('/')}`
}

function isLarge(schema: Keywords): boolean {
  return LARGE.some((keyword) => schema[keyword] !== undefined)
}

/** The last word in a path is what readers know a schema by. */
function lastWord(path: string): string | undefined {
  const words = path.split(/[/:]/).map((part) => part.replace(/[^\w.-]/g, ''))
  return words.findLast((part) => part !== '')
}

/** Returns a name as it stands in a JSON pointer inside of a URI. @see RFC 6901 §6 */
function escapePointer(key: string): string {
  // The dollar of `$defs` may stand in a fragment, and reads better as it is.
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('%24', '$')
}
