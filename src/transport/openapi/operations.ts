import type { MethodSpec } from '../../core/index.ts'
import { CUSTOM_METHOD, isStandardMethod, METHOD_TABLE } from '../../core/index.ts'
import type { JSONSchema } from '../../core/service-schemas.ts'
import { toErrorResponses } from './error-responses.ts'
import type { OperationKind } from './operation-kinds.ts'
import { LOGIN_KINDS, RECORD_KINDS } from './operation-kinds.ts'
import type { Paging } from './page-schema.ts'
import { toPageSchema } from './page-schema.ts'
import type { QueryUse } from './query-parameters.ts'
import { toQueryParameters } from './query-parameters.ts'
import type { DocumentSchema, Parameter, SchemaComponents } from './schema-components.ts'
import { toComponentName } from './schema-components.ts'
import type { MethodDescription, ServiceDescription } from './service-description.ts'
import type { OperationIds } from './service-names.ts'
import { capitalize, toTypeName } from './service-names.ts'
import { toSecurity } from './service-security.ts'
import type { ServiceUrl, ServiceUrls } from './service-url.ts'
import { toMethodUrl } from './service-url.ts'

/** One operation of the document, and where it stands. */
export interface PlacedOperation {
  readonly path: string
  readonly verb: Lowercase<MethodSpec['verb']>
  readonly operation: Readonly<Record<string, unknown>>
}

/** What the operations of a document share. */
export interface OperationScope {
  readonly components: SchemaComponents
  readonly ids: OperationIds
  /** Whether a custom method can be called by a path of its own. */
  readonly hasMethodPath: (url: ServiceUrl) => boolean
}

/** Any object: the data and the results of services that say nothing of them. */
const ANY_RECORD: DocumentSchema = { type: 'object', additionalProperties: true }

/** Returns the operations of a service. */
export function toOperations(
  scope: OperationScope,
  service: ServiceDescription,
  urls: ServiceUrls,
): PlacedOperation[] {
  return service.methods.flatMap((method) => {
    if (!isStandardMethod(method.name)) return [toCustomOperation(scope, service, method, urls)]
    const kinds = service.isLogin ? LOGIN_KINDS : RECORD_KINDS
    return kinds
      .filter((kind) => kind.method === method.name && isPossible(kind, service))
      .map((kind) => toOperation(scope, service, method, kind, urls))
  })
}

function isPossible({ method, many }: OperationKind, { multi }: ServiceDescription): boolean {
  return !many || multi.has(method)
}

function toOperation(
  scope: OperationScope,
  service: ServiceDescription,
  method: MethodDescription,
  kind: OperationKind,
  urls: ServiceUrls,
): PlacedOperation {
  const { components } = scope
  const typeName = toTypeName(service.path)
  const record = toRecord(components, method, typeName, service.isLogin)
  const takesMany = kind.method === 'create' && service.multi.has('create')
  const query = toQuery(components, typeName, method, kind.query)
  const { verb } = METHOD_TABLE[kind.method]
  return place(urls[kind.on], verb, {
    operationId: scope.ids.create(kind.id, typeName),
    ...describe(service, method, kind.summary),
    parameters: [...toPathParameters(urls[kind.on]), ...query],
    ...toBody(components, method, typeName, takesMany),
    responses: {
      ...toAnswer(kind.status, toResult(components, kind, service, record, takesMany)),
      ...(method.schemas?.result === undefined ? NO_CONTENT : {}),
      ...toErrors(method, kind.errors),
    },
  })
}

const NO_CONTENT = { 204: { description: 'Done, and there is nothing to return.' } } as const

/**
 * Custom methods share their URL with `create`. Their key has a fragment, which makes it one of its own
 * and which no client sends: the header says which method is meant. What comes after a fragment is not
 * sent either, so that a query is documented where the method has a path.
 */
function toCustomOperation(
  scope: OperationScope,
  service: ServiceDescription,
  method: MethodDescription,
  urls: ServiceUrls,
): PlacedOperation {
  const { components } = scope
  const typeName = toTypeName(service.path)
  const url = toMethodUrl(urls.all, method.name)
  const hasPath = scope.hasMethodPath(url)
  const name = `${typeName}${capitalize(method.name)}`
  const result = method.schemas?.result
  const schema = result === undefined ? {} : components.refer(`${name}Result`, result)
  const header: Parameter = {
    ...{ name: 'X-Service-Method', in: 'header', required: true },
    schema: { type: 'string', enum: [method.name] },
  }
  const query = hasPath ? toQuery(components, typeName, method, 'list') : [header]
  const path = hasPath ? url.path : `${urls.all.path}#${method.name}`
  return place({ ...urls.all, path }, CUSTOM_METHOD.verb, {
    operationId: scope.ids.create(method.name, typeName),
    ...describe(service, method, `Call '${method.name}'`),
    parameters: [...toPathParameters(urls.all), ...query],
    ...toBody(components, method, typeName, false),
    responses: {
      ...toAnswer(200, schema),
      ...(result === undefined ? NO_CONTENT : {}),
      ...toErrors(method, []),
    },
  })
}

function place(
  { path }: ServiceUrl,
  verb: MethodSpec['verb'],
  operation: PlacedOperation['operation'],
): PlacedOperation {
  return { path, verb: verb.toLowerCase() as PlacedOperation['verb'], operation }
}

function describe(
  { path }: ServiceDescription,
  { security }: MethodDescription,
  summary: string,
): object {
  const schemes = toSecurity(security)
  return { summary, tags: [path], ...(schemes === undefined ? {} : { security: schemes }) }
}

function toPathParameters({ parameters }: ServiceUrl): Parameter[] {
  return parameters.map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

/** Operations of a service mostly have the same query, which is long: they refer to its parameters. */
function toQuery(
  components: SchemaComponents,
  typeName: string,
  { name, schemas }: MethodDescription,
  use: QueryUse,
): object[] {
  // Custom methods of a service without schemas mostly have no query.
  const query = schemas === undefined && !isStandardMethod(name) ? false : schemas?.query
  return toQueryParameters(components, typeName, query, use).map((parameter) =>
    components.referParameter(`${typeName}.${parameter.name.replace(/[^\w.-]/g, '')}`, parameter),
  )
}

function toRecord(
  components: SchemaComponents,
  { schemas }: MethodDescription,
  typeName: string,
  isLogin: boolean,
): DocumentSchema {
  if (schemas?.result === undefined) return ANY_RECORD
  return components.refer(isLogin ? `${typeName}Result` : typeName, schemas.result)
}

function toBody(
  components: SchemaComponents,
  { name, schemas }: MethodDescription,
  typeName: string,
  takesMany: boolean,
): object {
  const method = isStandardMethod(name) ? METHOD_TABLE[name] : CUSTOM_METHOD
  if (!method.arguments.includes('data')) return {}
  const data: JSONSchema | undefined = schemas?.data
  const one =
    data === undefined ? ANY_RECORD : components.refer(`${typeName}${capitalize(name)}Data`, data)
  const schema = takesMany ? { anyOf: [one, { type: 'array', items: one }] } : one
  const required = data !== undefined
  return { requestBody: { required, content: { 'application/json': { schema } } } }
}

function toResult(
  components: SchemaComponents,
  { method, many }: OperationKind,
  { paging }: ServiceDescription,
  record: DocumentSchema,
  takesMany: boolean,
): DocumentSchema {
  const list: DocumentSchema = { type: 'array', items: record }
  if (method === 'find') return toFindResult(components, paging, record, list)
  if (many) return list
  return takesMany ? { anyOf: [record, list] } : record
}

function toFindResult(
  components: SchemaComponents,
  paging: Paging,
  record: DocumentSchema,
  list: DocumentSchema,
): DocumentSchema {
  if (paging === 'list') return list
  const page = toPageSchema(record)
  const named =
    '$ref' in record ? components.referWritten(`${toComponentName(record)}Page`, page) : page
  return paging === 'pages' ? named : { oneOf: [named, list] }
}

function toAnswer(status: number, schema: DocumentSchema): object {
  const description = status === 201 ? 'Created.' : 'Done.'
  return { [status]: { description, content: { 'application/json': { schema } } } }
}

function toErrors({ security }: MethodDescription, codes: readonly number[]): object {
  const own = security === null ? [400, ...codes] : [400, 401, ...codes]
  return toErrorResponses([...new Set(own)])
}
