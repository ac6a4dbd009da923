import type { DocumentSchema } from './schema-components.ts'

/** An answer of an operation, or a reference to one that many share. */
export type Response = Readonly<Record<string, unknown>>

/** The body of every error. */
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

/** The errors that the document names; the others are its `default`. */
const ERRORS: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  400: { name: 'BadRequest', description: 'The query or the data can not be accepted.' },
  401: { name: 'NotAuthenticated', description: 'Nothing proves who calls.' },
  404: { name: 'NotFound', description: 'There is no such record.' },
  409: { name: 'Conflict', description: 'Another record has a value that only one can have.' },
  default: { name: 'Error', description: 'Any other error.' },
}

/** Returns the errors that operations refer to. */
export function createErrorResponses(): Readonly<Record<string, Response>> {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  return Object.fromEntries(
    Object.values(ERRORS).map(({ name, description }) => [name, { description, content }]),
  )
}

/** Returns references to the errors of some codes, and to that of all others. */
export function toErrorResponses(codes: readonly number[]): Readonly<Record<string, Response>> {
  const all = [...codes.map(String), 'default']
  return Object.fromEntries(
    all.map((code) => [code, { $ref: `#/components/responses/${ERRORS[code]?.name}` }]),
  )
}
