import { DEFINITIONS, someSchema } from '../../core/schema/model/keywords.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { isPlainObject } from '../../core/value-kind.ts'

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

/** Parts of a document by their names. */
type Parts = Map<string, DocumentSchema>

/** Returns what takes the place of a reference inside a schema. */
type ReferenceMapping = (reference: string) => string

/** Keywords that say what a schema is to its own document, and mean another one inside of ours. */
const OWN_DOCUMENT: ReadonlySet<string> = new Set(['$id', '$schema', '$anchor', '$dynamicAnchor'])

/** Names that a component can have, and an `$id` of an application mostly is. */
const COMPONENT_NAME = /^[A-Za-z0-9._-]+$/

const SCHEMAS = '#/components/schemas/'
const PARAMETERS = '#/components/parameters/'
const RESPONSES = '#/components/responses/'

/** The body of every error, the component `Error`. */
export const ERROR_SCHEMA: DocumentSchema = {
  type: 'object',
  required: ['name', 'message', 'code', 'className'],
  properties: {
    name: { type: 'string', description: 'The class of the error: `BadRequest`.' },
    message: { type: 'string' },
    code: { type: 'integer', description: 'The status of the answer.' },
    className: {
      type: 'string',
      description: 'The class as a word of style sheets: `bad-request`.',
    },
    data: { description: 'What the error is about: for a validation, a list of what is wrong.' },
    errors: { description: 'Errors by the field that they are about.' },
  },
}

/** The errors that the document names, by their codes; the others are its `default`. */
const ERRORS: Readonly<Record<string, readonly [name: string, description: string]>> = {
  400: ['BadRequest', 'The query or the data can not be accepted.'],
  401: ['NotAuthenticated', 'Nothing proves who calls.'],
  404: ['NotFound', 'There is no such record.'],
  409: ['Conflict', 'Another record has a value that only one can have.'],
  default: ['Error', 'Any other error.'],
}

/**
 * What a document gives names to: schemas, so that generators make a type of each; parameters, which
 * the operations of a service share; errors; and what proves who calls.
 */
export class Components {
  readonly #schemas: Parts = new Map()
  readonly #parameters: Parts = new Map()
  readonly #operationIds = new Set<string>()
  /** The security schemes of the document, by their names. */
  readonly securitySchemes: Record<string, DocumentSchema> = {}

  /**
   * Returns a reference to a schema: by its `$id` where that can be a name and stands for no other
   * schema yet, else by the name given.
   */
  refer(name: string, schema: JSONSchema): DocumentSchema {
    const id = isPlainObject(schema) ? schema['$id'] : undefined
    const names = typeof id === 'string' && COMPONENT_NAME.test(id) ? [id, name] : [name]
    return { $ref: addPart(this.#schemas, names, SCHEMAS, (at) => toDocumentSchema(schema, at)) }
  }

  /** Returns a reference to a schema that refers to other components already. */
  referWritten(name: string, schema: DocumentSchema): DocumentSchema {
    return { $ref: addPart(this.#schemas, [name], SCHEMAS, () => schema) }
  }

  /** Returns a schema to be written where it is used; one that refers to its parts gets a name. */
  inline(name: string, schema: JSONSchema): DocumentSchema {
    const hasReference = someSchema(schema, ({ $ref }) => typeof $ref === 'string')
    return hasReference ? this.refer(name, schema) : toDocumentSchema(schema, '#')
  }

  /** Returns a reference to a parameter. */
  referParameter(name: string, parameter: Parameter): DocumentSchema {
    return { $ref: addPart(this.#parameters, [name], PARAMETERS, () => ({ ...parameter })) }
  }

  /** Returns references to the errors of some codes, and to that of all others. */
  referErrors(codes: readonly number[]): Readonly<Record<string, DocumentSchema>> {
    const names = [...codes.map(String), 'default']
    return Object.fromEntries(names.map((code) => [code, { $ref: RESPONSES + ERRORS[code]?.[0] }]))
  }

  /**
   * Returns an id for an operation, as generators make a function of each: `findUsers` for `find` of
   * `users`, with a number where that is taken.
   */
  createOperationId(method: string, typeName: string): string {
    const base = `${method.replace(/[^A-Za-z0-9_]+/g, '')}${typeName}`
    const id = toFreeName(base, this.#operationIds)
    this.#operationIds.add(id)
    return id
  }

  toJSON(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
    const content = { 'application/json': { schema: { $ref: `${SCHEMAS}Error` } } }
    const errors = Object.values(ERRORS)
    return {
      schemas: liftDefinitions(this.#schemas),
      parameters: Object.fromEntries(this.#parameters),
      responses: Object.fromEntries(
        errors.map(([name, description]) => [name, { description, content }]),
      ),
      ...(Object.keys(this.securitySchemes).length > 0
        ? { securitySchemes: this.securitySchemes }
        : {}),
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
  write: (place: string) => DocumentSchema,
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

function toFreeName(base: string, taken: { has(name: string): boolean }): string {
  let name = base
  for (let count = 2; taken.has(name); count += 1) name = `${base}${count}`
  return name
}

/** Returns a word with its first letter in upper case. */
export function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

/** Returns the last name in a reference to a schema. */
export function toComponentName({ $ref }: DocumentSchema): string {
  return String($ref).slice(SCHEMAS.length)
}

/**
 * Returns a copy of a schema for a place in the document: its references lead to that place, where they
 * led to the schema itself or to a part of it.
 */
function toDocumentSchema(schema: JSONSchema, place: string): DocumentSchema {
  const places = new Map([['', place]])
  collectIds(schema, place, places)
  return copySchema(toObject(schema), (reference) => {
    const [id = '', pointer = ''] = reference.split('#')
    const found = places.get(id)
    return found === undefined ? reference : found + pointer
  })
}

function toObject(schema: unknown): DocumentSchema {
  if (isPlainObject(schema)) return schema
  return schema === false ? { not: {} } : {}
}

/** Finds where the schemas are that have an `$id`. */
function collectIds(schema: unknown, place: string, places: Map<string, string>): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$id' && typeof value === 'string') places.set(value.replace(/#$/, ''), place)
    else collectIds(value, `${place}/${escapePointer(key)}`, places)
  }
}

/** Returns a copy of a schema with other references. Some libraries keep functions in theirs. */
function copySchema(schema: Readonly<Record<string, unknown>>, map: ReferenceMapping) {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    return isPlainObject(value) ? copySchema(value, map) : value
  }
  const entries = Object.entries(schema).flatMap(([key, part]) => {
    if (part === undefined || typeof part === 'function') return []
    if (typeof part !== 'string') return [[key, copy(part)]]
    if (OWN_DOCUMENT.has(key)) return []
    return [[key, key === '$ref' ? map(part) : part]]
  })
  return Object.fromEntries(entries) as DocumentSchema
}

/**
 * Returns schemas with the definitions inside each of them as schemas of their own, and all references
 * changed to that: some generators find no others.
 */
function liftDefinitions(schemas: Parts): Readonly<Record<string, DocumentSchema>> {
  const lifted: Parts = new Map(schemas)
  const places = new Map<string, string>()
  for (const [name, schema] of schemas) {
    const rest = { ...schema }
    for (const keyword of DEFINITIONS) {
      const definitions = schema[keyword]
      if (!isPlainObject(definitions)) continue
      delete rest[keyword]
      for (const [key, definition] of Object.entries(definitions)) {
        const words = key.split(/[^A-Za-z0-9]+/).map(capitalize)
        const own = toFreeName(name + words.join(''), lifted)
        lifted.set(own, toObject(definition))
        places.set(`${SCHEMAS}${name}/${keyword}/${escapePointer(key)}`, SCHEMAS + own)
      }
    }
    lifted.set(name, rest)
  }
  // A reference may lead further down, to a part of a definition.
  const map: ReferenceMapping = (reference) => {
    const found = [...places].find(([from]) => `${reference}/`.startsWith(`${from}/`))
    return found === undefined ? reference : found[1] + reference.slice(found[0].length)
  }
  return Object.fromEntries([...lifted].map(([name, schema]) => [name, copySchema(schema, map)]))
}

/** Returns a name as it stands in a JSON pointer inside of a URI. @see RFC 6901 §6 */
function escapePointer(key: string): string {
  // The dollar of `$defs` may stand in a fragment, and reads better as it is.
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('%24', '$')
}
