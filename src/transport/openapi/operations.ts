import { isAuthentication } from '../../auth/default-authentication.ts'
import { describeMethod } from '../../auth/method-description.ts'
import type { ByteBody, ByteOperation } from '../../core/function-metadata.ts'
import type { Application, MethodEntry, ServiceEntry } from '../../core/index.ts'
import { isStandardMethod } from '../../core/index.ts'
import type { QueryUse } from '../../core/schema/queries/described-names.ts'
import { describeName } from '../../core/schema/queries/described-names.ts'
import { findIdNames } from '../../core/schema/resolvers/selection.ts'
import { allowsMany } from '../../core/services/multi-option.ts'
import type { JSONSchema, MethodSchemas } from '../../core/services/service-schemas.ts'
import { BYTE_CONTENT, toByteBody } from './bytes.ts'
import { describeCall, mergeTerms } from './call-terms.ts'
import type { Components, DocumentSchema, Parameter } from './components.ts'
import { capitalize, toComponentName } from './components.ts'
import type { OperationAnswer, OperationKind } from './operation-kinds.ts'
import { listKinds } from './operation-kinds.ts'
import { toTypeName, toUrl } from './operation-path.ts'
import { toQueryParameters } from './query-parameters.ts'
import { readSecurity, toLoginSchemas } from './security.ts'
import { toSelectedRecord } from './selected-record.ts'

/** One operation of the document with its place. */
export interface PlacedOperation {
  /** The path of the service. */
  readonly service: string
  /** The path, with the names of its parameters in braces. */
  readonly path: string
  /** In lower case. */
  readonly verb: string
  readonly operation: Readonly<Record<string, unknown>>
}

/** Shared by the operations of a document. */
interface OperationScope {
  readonly app: Application
  readonly components: Components
  /** Path that all services are below, `''` for none. */
  readonly prefix: string
  /** Whether a custom method can be called by its own path. */
  readonly hasMethodPath: (path: string) => boolean
  /** Whether `find` accepts its query as a body. */
  readonly takesQueryBodies: boolean
}

/** Any object: the data and the results of services without schemas. */
const ANY_RECORD: DocumentSchema = { type: 'object', additionalProperties: true }

const NO_CONTENT = { 204: { description: 'Done, and there is nothing to return.' } } as const

/** A method with its description in the document. */
interface Method extends Pick<MethodEntry, 'name' | 'spec'> {
  /** The schemas over HTTP; `undefined` if they are unknown. */
  readonly schemas: MethodSchemas | undefined
  /** Whether one call of it may write many records. */
  readonly isForMany: boolean
}

/** The operations of a service whose schemas are loaded. */
export class ServiceOperations {
  readonly #scope: OperationScope
  readonly #path: string
  readonly #entry: ServiceEntry
  readonly #typeName: string
  readonly #isLogin: boolean
  /** The options of the same names; unknown for services that are not adapters. */
  readonly #options: { readonly paginate?: unknown } | undefined

  constructor(scope: OperationScope, path: string, entry: ServiceEntry) {
    this.#scope = scope
    this.#path = path
    this.#entry = entry
    this.#typeName = toTypeName(path)
    this.#isLogin = isAuthentication(entry.service)
    this.#options = (entry.service as { readonly options?: object }).options
  }

  create(): PlacedOperation[] {
    const { service, methods, schemas: given } = this.#entry
    const kinds = listKinds(this.#entry)
    return [...methods.values()].flatMap(({ name, spec, external }) => {
      const description = describeMethod(this.#entry, name)
      // With `null`, the service rejects each external call.
      if (!external || description === null) return []
      // A method that describes itself takes one record at a time.
      const isForMany = description === undefined && allowsMany(name, this.#options) === true
      const own = kinds.filter(([method, , , answer]) => {
        return method === name && (answer !== 'written' || isForMany)
      })
      if (!isStandardMethod(name)) own.push([name, name, `Call '${name}'`, 'custom', []])
      if (own.length === 0) return []
      const login = isAuthentication(service) ? toLoginSchemas(service, name) : undefined
      const schemas = given?.toMethodSchemas(name) ?? description?.schemas ?? login
      const method = { name, spec, schemas, isForMany }
      const operations = own.flatMap((kind) => this.#toOperations(method, kind))
      const [first] = operations
      const hasQueryBody = name === 'find' && this.#scope.takesQueryBodies && first !== undefined
      return hasQueryBody ? [...operations, this.#toQueryBody(schemas?.query, first)] : operations
    })
  }

  /**
   * Returns the operation of `find` that accepts its query as a body: a copy of the one with a query in the URL. Its
   * path ends with `#find`, since `POST` of the path itself is `create`.
   */
  #toQueryBody(query: JSONSchema | undefined, find: PlacedOperation): PlacedOperation {
    const { components } = this.#scope
    const schema =
      query === undefined ? ANY_RECORD : components.refer(`${this.#typeName}Query`, query)
    const { parameters, responses, ...others } = find.operation
    const { 304: _notModified, ...answers } = responses as Readonly<Record<number, object>>
    const inPath = (parameters as readonly Parameter[]).filter((one) => one.in === 'path')
    const operation = {
      ...others,
      operationId: components.createOperationId('findByBody', this.#typeName),
      summary: `${others['summary']} by a query in the body`,
      parameters: [...inPath, toMethodHeader('find')],
      requestBody: { required: false, content: { 'application/json': { schema } } },
      responses: answers,
    }
    return { ...find, path: `${find.path}#find`, verb: 'post', operation }
  }

  /** Returns the operation of a kind, and those that features add to it. */
  #toOperations(method: Method, kind: OperationKind): PlacedOperation[] {
    const { name, spec, schemas } = method
    const [, id, summary, answer, errors] = kind
    const { app, components } = this.#scope
    const security = readSecurity(app, this.#entry, name, components.securitySchemes)
    const { path, parameters, result } =
      answer === 'custom' ? this.#toCustomParts(method) : this.#toRecordParts(method, kind)
    const [status, description] = name === 'create' ? [201, 'Created.'] : [200, 'Done.']
    const isRecord = answer === 'record' && !this.#isLogin
    const terms = describeCall(this.#entry, method, isRecord)
    const { headers } = terms
    const { parameters: fields = [], ...body } = this.#toBody(method, terms.byteBody)
    const operation = {
      operationId: components.createOperationId(id, this.#typeName),
      summary,
      tags: [this.#path],
      ...(security === null || security.length === 0 ? {} : { security }),
      parameters: [...parameters, ...fields, ...terms.parameters],
      ...body,
      responses: {
        [status]: {
          description,
          ...(Object.keys(headers).length > 0 && { headers }),
          content: {
            'application/json': { schema: result },
            ...terms.content,
          },
        },
        ...terms.responses,
        ...(schemas?.result === undefined ? NO_CONTENT : {}),
        ...components.referErrors([
          ...[400, ...(security === null ? [] : [401])],
          ...[...errors, ...terms.errors],
        ]),
      },
    }
    const placed = { service: this.#path, path, verb: spec.verb.toLowerCase(), operation }
    const added = terms.added.map((one) => this.#toByteOperation(method, placed, one))
    return [placed, ...added]
  }

  #toByteOperation(
    method: Method,
    call: PlacedOperation,
    { path, id, summary, answers, features }: ByteOperation,
  ): PlacedOperation {
    const { parameters, responses, security, tags } = call.operation
    const { headers, ...terms } = describeCall(this.#entry, method, true, features)
    const inPath = (parameters as readonly Parameter[]).filter((one) => one.in === 'path')
    const errors = Object.entries(responses as object).filter(([, one]) => '$ref' in one)
    const open = terms.isOpen ? [{}] : []
    const operation = {
      operationId: this.#scope.components.createOperationId(id, this.#typeName),
      ...{ summary, tags },
      ...(Array.isArray(security) && { security: [...security, ...open] }),
      parameters: [...inPath, ...terms.parameters],
      responses: {
        ...mergeTerms([answers], (description) => ({
          description,
          headers,
          content: BYTE_CONTENT,
        })),
        ...terms.responses,
        ...Object.fromEntries(errors),
      },
    }
    return { ...call, path: `${call.path}${path}`, operation }
  }

  #toRecordParts(method: Method, [name, id, , answer]: OperationKind) {
    const { singleton } = this.#entry.options
    const isOne = method.spec.withId && answer === 'record' && !this.#isLogin && !singleton
    const url = toUrl(this.#scope.prefix, this.#path, isOne)
    const isNew = name === 'create' || this.#isLogin
    const found = this.#hasPages === false ? 'list' : 'page'
    const query = this.#toQuery(method, isNew ? 'new' : answer === 'found' ? found : 'record')
    const isWhole = method.schemas?.isWhole === true
    const recordName = isWhole ? `${capitalize(id)}${this.#typeName}Result` : this.#typeName
    const canSelect = query.some((parameter) => parameter.name === '$select')
    const record = this.#toRecord(method, recordName, canSelect)
    const pageFields = Object.assign({}, ...query.map((one) => describeName(one.name)?.pageFields))
    const result = isWhole ? record : this.#toResult(method, answer, record, pageFields)
    return { path: url.path, parameters: [...url.parameters, ...this.#refer(query)], result }
  }

  /**
   * Custom methods share their URL with `create`. Their path has a fragment, which makes it unique and which no client
   * sends: the header names the method. A query after a fragment is not sent either, so it is documented only if the
   * method has a path.
   */
  #toCustomParts(method: Method) {
    const { components, hasMethodPath, prefix } = this.#scope
    const { name, schemas } = method
    const url = toUrl(prefix, this.#path, false)
    const ownPath = `${url.path === '/' ? '' : url.path}/${name}`
    const hasPath = hasMethodPath(ownPath)
    const resultName = `${this.#typeName}${capitalize(name)}Result`
    const result = schemas?.result === undefined ? {} : components.refer(resultName, schemas.result)
    const parameters = hasPath ? this.#refer(this.#toQuery(method, 'page')) : [toMethodHeader(name)]
    const path = hasPath ? ownPath : `${url.path}#${name}`
    return { path, parameters: [...url.parameters, ...parameters], result }
  }

  #toQuery({ name, schemas }: Method, use: QueryUse): readonly Parameter[] {
    // Custom methods of a service without schemas usually have no query.
    const query = schemas === undefined && !isStandardMethod(name) ? false : schemas?.query
    return toQueryParameters(this.#scope.components, this.#typeName, query, use)
  }

  /** Operations of a service usually share a long query, so they refer to its parameters. */
  #refer(query: readonly Parameter[]): readonly object[] {
    return query.map((parameter) => {
      const name = `${this.#typeName}.${parameter.name.replace(/[^\w.-]/g, '')}`
      return this.#scope.components.referParameter(name, parameter)
    })
  }

  /** @param canSelect whether callers may choose the fields that they get */
  #toRecord({ schemas }: Method, name: string, canSelect: boolean): DocumentSchema {
    const result = schemas?.result
    if (result === undefined) return ANY_RECORD
    // With a schema for the whole response, `$select` applies to its content.
    const kept = schemas?.isWhole
      ? Object.keys((result as { properties?: object }).properties ?? {})
      : findIdNames(this.#entry.service)
    const record = canSelect ? toSelectedRecord(result, kept) : result
    return this.#scope.components.refer(this.#isLogin ? `${name}Result` : name, record)
  }

  #toBody(
    { name, spec, schemas, isForMany }: Method,
    bytes: ByteBody | undefined,
  ): { readonly parameters?: readonly Parameter[]; readonly requestBody?: object } {
    if (!spec.arguments.includes('data')) return {}
    if (bytes) return toByteBody(this.#scope.components, this.#typeName, bytes, schemas?.data)
    const dataName = `${this.#typeName}${capitalize(name)}Data`
    const required = schemas?.data !== undefined
    const one = required ? this.#scope.components.refer(dataName, schemas.data) : ANY_RECORD
    const takesMany = name === 'create' && isForMany
    const schema = takesMany ? { anyOf: [one, { type: 'array', items: one }] } : one
    return { requestBody: { required, content: { 'application/json': { schema } } } }
  }

  #toResult(
    { name, isForMany }: Method,
    answer: OperationAnswer,
    record: DocumentSchema,
    pageFields: object,
  ): DocumentSchema {
    const list: DocumentSchema = { type: 'array', items: record }
    if (answer === 'written') return list
    if (answer === 'record') {
      return name === 'create' && isForMany ? { anyOf: [record, list] } : record
    }
    if (this.#hasPages === false) return list
    const page = toPageSchema(record, pageFields)
    const named =
      '$ref' in record ? this.#scope.components.refer(`${toComponentName(record)}Page`, page) : page
    return this.#hasPages === undefined ? { oneOf: [named, list] } : named
  }

  /** By the option `paginate`: a default size means pages; without the option it is unknown. */
  get #hasPages(): boolean | undefined {
    const paginate = this.#options?.paginate
    const size = (paginate || {}) as { readonly default?: unknown }
    return paginate === undefined ? undefined : size.default !== undefined
  }
}

/** Returns the schema of a page of records. A page with additional fields has a total only on request. */
function toPageSchema(record: DocumentSchema, further: object): DocumentSchema {
  const count = { type: 'integer', minimum: 0 }
  const isPlain = Object.keys(further).length === 0
  return {
    type: 'object',
    required: isPlain ? ['total', 'limit', 'skip', 'data'] : ['limit', 'data'],
    properties: {
      total: { ...count, description: 'How many records there are on all pages.' },
      limit: { ...count, description: 'How many records a page holds.' },
      skip: { ...count, description: 'How many records are before this page.' },
      data: { type: 'array', items: record },
      ...further,
    },
  }
}

/** Returns the header with which a POST calls a method other than `create`. */
function toMethodHeader(name: string): Parameter {
  return {
    ...{ name: 'X-Service-Method', in: 'header', required: true },
    schema: { type: 'string', enum: [name] },
  }
}
