import { getOrAdd, someSchema, toNamedSchemas } from '../../core/schema/model/keywords.ts'
import { writeReferences } from '../../core/schema/model/references.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { isPlainObject } from '../../core/value-kind.ts'

/** A schema in the document: always an object, as many generators do not support booleans. */
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

/** Names that a component can have; most `$id`s of applications qualify. */
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

/** The errors that the document names, by their codes; all others are its `default`. */
const ERRORS: Readonly<Record<string | number, readonly [name: string, description: string]>> = {
  400: ['BadRequest', 'The query or the data cannot be accepted.'],
  401: ['NotAuthenticated', 'Nothing proves who calls.'],
  404: ['NotFound', 'There is no such record.'],
  409: [
    'Conflict',
    'Another record has a value that only one can have, or a request with the same key still runs.',
  ],
  412: ['PreconditionFailed', 'The record has another version.'],
  413: ['PayloadTooLarge', 'The body is too large.'],
  415: ['UnsupportedMediaType', 'Bodies of this type are not accepted.'],
  422: ['Unprocessable', 'The `Idempotency-Key` was used for another request.'],
  428: ['PreconditionRequired', 'The version of the record is not named.'],
  429: ['TooManyRequests', 'There were too many requests.'],
  default: ['Error', 'Any other error.'],
}

/**
 * The named parts of a document: schemas, so that generators create a type for each; parameters, which the operations
 * of a service share; errors; and security schemes.
 */
export class Components {
  /** With linked references: the names of definitions depend on all schemas. */
  readonly #schemas = new Map<string, JSONSchema>()
  readonly #parameters = new Map<string, Parameter>()
  readonly #operationIds = new Set<string>()
  /** The security schemes of the document, by their names. */
  readonly securitySchemes: Record<string, DocumentSchema>

  /** @param securitySchemes those that other parts of the document name */
  constructor(securitySchemes: Readonly<Record<string, DocumentSchema>> = {}) {
    this.securitySchemes = { ...securitySchemes }
  }

  /**
   * Returns a reference to a schema: by its `$id` if that is a valid name not used for another schema, otherwise by the
   * given name.
   */
  refer(name: string, schema: JSONSchema): DocumentSchema {
    const id = isPlainObject(schema) ? schema['$id'] : undefined
    const names = typeof id === 'string' && COMPONENT_NAME.test(id) ? [id, name] : [name]
    return { $ref: SCHEMAS + addPart(this.#schemas, names, schema) }
  }

  /** Returns a schema to be written inline; one that refers to its own parts gets a name. */
  inline(name: string, schema: JSONSchema): DocumentSchema {
    const hasReference = someSchema(schema, ({ $ref }) => $ref !== undefined)
    return hasReference ? this.refer(name, schema) : toDocumentSchema(schema)
  }

  /** Returns a reference to a parameter. */
  referParameter(name: string, parameter: Parameter): DocumentSchema {
    return { $ref: PARAMETERS + addPart(this.#parameters, [name], parameter) }
  }

  /** Returns references to the errors of some codes, and to the default for all others. */
  referErrors(codes: readonly number[]): Readonly<Record<string, DocumentSchema>> {
    const names = [...codes, 'default'] as const
    return Object.fromEntries(names.map((code) => [code, { $ref: RESPONSES + ERRORS[code]?.[0] }]))
  }

  /**
   * Returns an id for an operation, from which generators create a function: `findUsers` for `find` of `users`, with a
   * number if that is taken.
   */
  createOperationId(method: string, typeName: string): string {
    const base = `${method.replace(/[^A-Za-z0-9_]+/g, '')}${typeName}`
    const id = findName([base], (name) => !this.#operationIds.has(name))
    this.#operationIds.add(id)
    return id
  }

  toJSON(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
    const content = { 'application/json': { schema: { $ref: `${SCHEMAS}Error` } } }
    const errors = Object.values(ERRORS)
    return {
      schemas: this.#writeSchemas(),
      parameters: Object.fromEntries(this.#parameters),
      responses: Object.fromEntries(
        errors.map(([name, description]) => [name, { description, content }]),
      ),
      securitySchemes: this.securitySchemes,
    }
  }

  /** Definitions within schemas become separate schemas: some generators find no others. */
  #writeSchemas(): Readonly<Record<string, DocumentSchema>> {
    const written = new Map<string, DocumentSchema>(
      [...this.#schemas.keys()].map((name) => [name, {}]),
    )
    for (const [own, schema] of this.#schemas) {
      const names = new Map<string, string>()
      const toName = (keyword: string, name: string): string =>
        getOrAdd(names, `${keyword}/${name}`, () => {
          const words = name.split(/[^A-Za-z0-9]+/).map(capitalize)
          const free = findName([own + words.join('')], (one) => !written.has(one))
          written.set(free, {})
          return free
        })
      const { $defs, definitions, ...rest } = toDocumentSchema(
        writeReferences(schema, {
          toReference: (definition) =>
            SCHEMAS + (definition === undefined ? own : toName(...definition)),
        }),
      )
      for (const [keyword, named] of Object.entries({ $defs, definitions })) {
        for (const [name, definition] of Object.entries(toNamedSchemas(named))) {
          written.set(toName(keyword, name), toDocumentSchema(definition))
        }
      }
      written.set(own, rest)
    }
    return Object.fromEntries(written)
  }
}

/** Adds a part under a name that is free or already has the same part. Returns the name. */
function addPart<Part extends JSONSchema>(
  parts: Map<string, Part>,
  names: readonly string[],
  part: Part,
): string {
  const name = findName(names, (one) => {
    const known = parts.get(one)
    return known === undefined || toText(known) === toText(part)
  })
  parts.set(name, part)
  return name
}

/** Returns the first of some names that is free, otherwise the last one with a number. */
export function findName(names: readonly string[], isFree: (name: string) => boolean): string {
  const given = names.find(isFree)
  if (given !== undefined) return given
  let count = 2
  while (!isFree(`${names.at(-1)}${count}`)) count += 1
  return `${names.at(-1)}${count}`
}

/** Returns a word with its first letter in upper case. */
export function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

/** Returns the last name in a reference to a schema. */
export function toComponentName({ $ref }: DocumentSchema): string {
  return String($ref).slice(SCHEMAS.length)
}

/** Keywords that describe a schema as a separate document, and would mean something else within ours. */
const OWN_DOCUMENT = ['$id', '$schema', '$dynamicAnchor']

/** Returns a schema as an object. Some libraries keep functions in schemas, which a document cannot contain. */
function toDocumentSchema(schema: unknown): DocumentSchema {
  if (!isPlainObject(schema)) return schema === false ? { not: {} } : {}
  const kept = Object.entries(schema).filter(([keyword]) => !OWN_DOCUMENT.includes(keyword))
  return JSON.parse(JSON.stringify(Object.fromEntries(kept)))
}

function toText(schema: JSONSchema): string {
  return JSON.stringify(toDocumentSchema(writeReferences(schema)))
}
