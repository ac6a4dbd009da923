import type { MethodSpec } from '../../core/index.ts'
import { CUSTOM_METHOD, isStandardMethod, METHOD_TABLE } from '../../core/index.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { toErrorResponses } from './error-responses.ts'
import type { OperationKind } from './operation-kinds.ts'
import type { Paging } from './page-schema.ts'
import { toPageSchema } from './page-schema.ts'
import type { QueryUse } from './query-parameters.ts'
import { toQueryParameters } from './query-parameters.ts'
import type { DocumentSchema, Parameter, SchemaComponents } from './schema-components.ts'
import { toComponentName } from './schema-components.ts'
import { toSelectedRecord } from './selected-record.ts'
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
    return service.kinds
      .filter((kind) => kind.method === method.name && isPossible(kind, service))
      .map((kind) => toOperation(scope, service, method, kind, urls))
  })
}

function isPossible({ method, answer }: OperationKind, { multi }: ServiceDescription): boolean {
  return answer !== 'written' || multi.has(method)
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
  const takesMany = kind.method === 'create' && service.multi.has('create')
  const query = toQuery(components, typeName, method, kind.query)
  const isWhole = method.schemas?.isWhole === true
  const name = isWhole ? `${capitalize(kind.id)}${typeName}Result` : typeName
  const record = toRecord(components, service, method, name, query.some(isSelect))
  const { verb } = METHOD_TABLE[kind.method]
  return place(urls[kind.on], verb, {
    operationId: scope.ids.create(kind.id, typeName),
    ...describe(service, method, kind.summary),
    parameters: [...toPathParameters(urls[kind.on]), ...refer(components, typeName, query)],
    ...toBody(components, method, typeName, takesMany),
    responses: {
      ...toAnswer(
        kind.status,
        isWhole ? record : toResult(components, kind, service, record, takesMany),
      ),
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
  const query = hasPath ? toQuery(components, typeName, method, 'list') : []
  const parameters = hasPath ? refer(components, typeName, query) : [header]
  const path = hasPath ? url.path : `${urls.all.path}#${method.name}`
  return place({ ...urls.all, path }, CUSTOM_METHOD.verb, {
    operationId: scope.ids.create(method.name, typeName),
    ...describe(service, method, `Call '${method.name}'`),
    parameters: [...toPathParameters(urls.all), ...parameters],
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

function toQuery(
  components: SchemaComponents,
  typeName: string,
  { name, schemas }: MethodDescription,
  use: QueryUse,
): readonly Parameter[] {
  // Custom methods of a service without schemas mostly have no query.
  const query = schemas === undefined && !isStandardMethod(name) ? false : schemas?.query
  return toQueryParameters(components, typeName, query, use)
}

/** Operations of a service mostly have the same query, which is long: they refer to its parameters. */
function refer(
  components: SchemaComponents,
  typeName: string,
  query: readonly Parameter[],
): readonly object[] {
  return query.map((parameter) =>
    components.referParameter(`${typeName}.${parameter.name.replace(/[^\w.-]/g, '')}`, parameter),
  )
}

function isSelect({ name }: Parameter): boolean {
  return name === '$select'
}

/** @param canSelect whether callers may choose the fields that they get */
function toRecord(
  components: SchemaComponents,
  { isLogin, idNames }: ServiceDescription,
  { schemas }: MethodDescription,
  typeName: string,
  canSelect: boolean,
): DocumentSchema {
  const result = schemas?.result
  if (result === undefined) return ANY_RECORD
  // Of an answer as a whole, `$select` is about what is inside.
  const kept = schemas?.isWhole
    ? Object.keys((result as { properties?: object }).properties ?? {})
    : idNames
  const record = canSelect ? toSelectedRecord(result, kept) : result
  return components.refer(isLogin ? `${typeName}Result` : typeName, record)
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
  { answer }: OperationKind,
  { paging }: ServiceDescription,
  record: DocumentSchema,
  takesMany: boolean,
): DocumentSchema {
  const list: DocumentSchema = { type: 'array', items: record }
  if (answer === 'found') return toFindResult(components, paging, record, list)
  if (answer === 'written') return list
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
