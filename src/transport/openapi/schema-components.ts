import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { escapePointer, liftDefinitions } from './lifted-definitions.ts'

/** A schema as it stands in the document: always an object, as many generators read no booleans. */
export type DocumentSchema = Readonly<Record<string, unknown>>

/** A parameter of an operation. @see https://spec.openapis.org/oas/v3.1.1.html#parameter-object */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly style?: 'form' | 'deepObject'
  readonly explode?: boolean
  readonly schema: DocumentSchema
  readonly example?: object
}

/** Keywords that say what a schema is to its own document, and mean another one inside of ours. */
const OWN_DOCUMENT: ReadonlySet<string> = new Set(['$id', '$schema', '$anchor', '$dynamicAnchor'])

/** Names that a component can have, and an `$id` of an application mostly is. */
const COMPONENT_NAME = /^[A-Za-z0-9._-]+$/

const BASE = '#/components/schemas/'

const PARAMETERS = '#/components/parameters/'

/** Parts of a document by their names. */
type Parts = Map<string, Readonly<Record<string, unknown>>>

/**
 * What a document gives names to: schemas, so that generators make a type of each, and parameters, which
 * the operations of a service share.
 */
export class SchemaComponents {
  readonly #schemas: Parts = new Map()
  readonly #parameters: Parts = new Map()

  /**
   * Returns a reference to a schema: by its `$id` where that can be a name and stands for no other
   * schema yet, else by the name given.
   */
  refer(name: string, schema: JSONSchema): DocumentSchema {
    const id = readId(schema)
    const names = id === undefined ? [name] : [id, name]
    return { $ref: addPart(this.#schemas, names, BASE, (place) => toDocumentSchema(schema, place)) }
  }

  /** Returns a reference to a schema that refers to other components already. */
  referWritten(name: string, schema: DocumentSchema): DocumentSchema {
    return { $ref: addPart(this.#schemas, [name], BASE, () => schema) }
  }

  /** Returns a schema to be written where it is used; one that refers to its parts gets a name. */
  inline(name: string, schema: JSONSchema): DocumentSchema {
    return hasReference(schema) ? this.refer(name, schema) : toDocumentSchema(schema, '#')
  }

  /** Returns a reference to a parameter. */
  referParameter(name: string, parameter: Parameter): { readonly $ref: string } {
    return { $ref: addPart(this.#parameters, [name], PARAMETERS, () => ({ ...parameter })) }
  }

  toJSON(): Readonly<Record<'schemas' | 'parameters', Readonly<Record<string, DocumentSchema>>>> {
    return {
      schemas: liftDefinitions(this.#schemas, BASE),
      parameters: Object.fromEntries(this.#parameters),
    }
  }
}

/**
 * Adds a part by the first of some names that is free or has the same part, else by the last one with a
 * number. Returns where the part is.
 */
function addPart(
  parts: Parts,
  names: readonly string[],
  base: string,
  write: (place: string) => Readonly<Record<string, unknown>>,
): string {
  const last = names.at(-1) ?? ''
  for (let count = 0; ; count += 1) {
    const name = names[count] ?? `${last}${count - names.length + 2}`
    const part = write(base + name)
    const known = parts.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(part)) continue
    parts.set(name, part)
    return base + name
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
