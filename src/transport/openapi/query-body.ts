import type { DocumentSchema, Parameter } from './components.ts'

/** An operation, and where it stands. */
interface FindOperation {
  readonly path: string
  readonly operation: Readonly<Record<string, unknown>>
}

/** The header by which a POST finds records. */
const HEADER: Parameter = {
  ...{ name: 'X-Service-Method', in: 'header', required: true },
  schema: { type: 'string', enum: ['find'] },
}

/**
 * Returns the operation of `find` with its query as a body, made of that with a query in the URL. It shares
 * its URL with `create`, so that its key has a fragment, which no client sends.
 * @param query the schema of queries
 */
export function toQueryBodyOperation<Operation extends FindOperation>(
  find: Operation,
  operationId: string,
  query: DocumentSchema,
): Operation & { readonly verb: string } {
  const { parameters, ...others } = find.operation
  const inPath = (parameters as readonly Parameter[]).filter((one) => one.in === 'path')
  const operation = {
    ...others,
    operationId,
    summary: `${others['summary']} by a query in the body`,
    parameters: [...inPath, HEADER],
    requestBody: { required: false, content: { 'application/json': { schema: query } } },
  }
  return { ...find, path: `${find.path}#find`, verb: 'post', operation }
}
