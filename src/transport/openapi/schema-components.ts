import type { JSONSchema } from '../../core/service-schemas.ts'
import { isPlainObject } from '../../core/value-kind.ts'

/** A schema as it stands in the document: always an object, as many generators read no booleans. */
export type DocumentSchema = Readonly<Record<string, unknown>>

/** Keywords that say what a schema is to its own document, and mean another one inside of ours. */
const OWN_DOCUMENT: ReadonlySet<string> = new Set(['$id', '$schema', '$anchor', '$dynamicAnchor'])

/** Names that a component can have, and an `$id` of an application mostly is. */
const COMPONENT_NAME = /^[A-Za-z0-9._-]+$/

const BASE = '#/components/schemas/'

/** The schemas that a document gives names to, so that generators make a type of each. */
export class SchemaComponents {
  readonly #schemas = new Map<string, DocumentSchema>()

  /**
   * Returns a reference to a schema: by its `$id` where that can be a name and stands for no other
   * schema yet, else by the name given.
   */
  refer(name: string, schema: JSONSchema): DocumentSchema {
    const id = readId(schema)
    const names = id === undefined ? [name] : [id, name]
    return this.#add(names, (place) => toDocumentSchema(schema, place))
  }

  /** Returns a reference to a schema that refers to other components already. */
  referWritten(name: string, schema: DocumentSchema): DocumentSchema {
    return this.#add([name], () => schema)
  }

  /** Returns a schema to be written where it is used; one that refers to its parts gets a name. */
  inline(name: string, schema: JSONSchema): DocumentSchema {
    return hasReference(schema) ? this.refer(name, schema) : toDocumentSchema(schema, '#')
  }

  /** Adds a schema by the first of some names that is free, or by the last one with a number. */
  #add(names: readonly string[], write: (place: string) => DocumentSchema): DocumentSchema {
    const last = names.at(-1) ?? ''
    for (let count = 0; ; count += 1) {
      const name = names[count] ?? `${last}${count - names.length + 2}`
      const schema = write(BASE + name)
      const known = this.#schemas.get(name)
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) continue
      this.#schemas.set(name, schema)
      return { $ref: BASE + name }
    }
  }

  toJSON(): Readonly<Record<string, DocumentSchema>> {
    return Object.fromEntries(this.#schemas)
  }
}

/** Returns the last name in a reference to a component. */
export function toComponentName({ $ref }: DocumentSchema): string {
  return String($ref).slice(BASE.length)
}

function readId(schema: JSONSchema): string | undefined {
  const id = isPlainObject(schema) ? schema['$id'] : undefined
  return typeof id === 'string' && COMPONENT_NAME.test(id) ? id : undefined
}

function hasReference(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasReference)
  if (!isPlainObject(schema)) return false
  return typeof schema['$ref'] === 'string' || Object.values(schema).some(hasReference)
}

/**
 * Returns a copy of a schema for a place in the document: its references lead to that place, where they
 * led to the schema itself or to a part of it.
 */
function toDocumentSchema(schema: JSONSchema, place: string): DocumentSchema {
  if (!isPlainObject(schema)) return schema === false ? { not: {} } : {}
  const places = new Map<string, string>()
  collectIds(schema, place, places)
  return copySchema(schema, place, places) as DocumentSchema
}

/** Finds where the schemas are that have an `$id`. */
function collectIds(schema: unknown, place: string, places: Map<string, string>): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$id' && typeof value === 'string') places.set(value.replace(/#$/, ''), place)
    else collectIds(value, `${place}/${escapePointer(key)}`, places)
  }
}

function copySchema(value: unknown, root: string, places: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => copySchema(item, root, places))
  if (!isPlainObject(value)) return value
  const entries = Object.entries(value).flatMap(([key, part]) => {
    if (OWN_DOCUMENT.has(key) && typeof part === 'string') return []
    if (key === '$ref' && typeof part === 'string') return [[key, toPlace(part, root, places)]]
    return isWritten(part) ? [[key, copySchema(part, root, places)]] : []
  })
  return Object.fromEntries(entries)
}

/** Whether a value can stand in JSON: some libraries keep functions in their schemas. */
function isWritten(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function'
}

function toPlace(reference: string, root: string, places: ReadonlyMap<string, string>): string {
  const [id = '', pointer = ''] = reference.split('#')
  const place = id === '' ? root : places.get(id)
  return place === undefined ? reference : place + pointer
}

function escapePointer(key: string): string {
  // The dollar of `$defs` may stand in a fragment, and reads better as it is.
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('%24', '$')
}
