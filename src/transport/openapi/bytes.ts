import type { ByteBody } from '../../core/function-metadata.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import type { Components, DocumentSchema, Parameter } from './components.ts'
import { toQueryParameters } from './query-parameters.ts'

/** OpenAPI 3.1 would do without a schema, but generators know this one of 3.0. */
const BYTES: DocumentSchema = { type: 'string', format: 'binary' }

/** The content of a response with bytes of any type. */
export const BYTE_CONTENT: DocumentSchema = { '*/*': { schema: BYTES } }

/** Returns the body of an operation that accepts bytes, and parameters for the fields of its data. */
export function toByteBody(
  components: Components,
  typeName: string,
  { description, fields, formField, isOptional }: ByteBody,
  data: JSONSchema = true,
): { readonly parameters: readonly Parameter[]; readonly requestBody: DocumentSchema } {
  const required = formField === undefined ? Object.keys(fields) : []
  const schema = { allOf: [{ properties: fields, required }, data] }
  const parameters = toQueryParameters(components, typeName, schema, 'record')
  // The page and generated clients send the first type.
  const content = { 'application/octet-stream': { schema: BYTES }, ...BYTE_CONTENT }
  const body = { description, required: !isOptional, content }
  if (formField === undefined) return { parameters, requestBody: body }
  const properties = Object.fromEntries(parameters.map((one) => [one.name, one.schema]))
  const form = {
    type: 'object',
    description: 'The fields come before the bytes.',
    required: [...parameters.flatMap((one) => (one.required ? one.name : [])), formField],
    properties: { ...properties, [formField]: BYTES },
  }
  return {
    parameters: parameters.map(({ required: _inForm, ...one }) => one),
    requestBody: { ...body, content: { ...content, 'multipart/form-data': { schema: form } } },
  }
}
