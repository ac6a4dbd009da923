import { createErrorResponses, ERROR_SCHEMA } from './error-responses.ts'
import type { PlacedOperation } from './operations.ts'
import { toOperations } from './operations.ts'
import { SchemaComponents } from './schema-components.ts'
import type { ServiceDescription } from './service-description.ts'
import { OperationIds } from './service-names.ts'
import { toServiceUrls, toShape } from './service-url.ts'

/** What a document says of the whole. @see https://spec.openapis.org/oas/v3.1.1.html#info-object */
export interface OpenApiInfo {
  /** The name of the interface. */
  readonly title: string
  /** Its version: that of the interface, not of OpenAPI. */
  readonly version: string
  /** What it is for, in Markdown. */
  readonly description?: string
  /** Further members of the object: `contact`, `license`. */
  readonly [member: string]: unknown
}

/** Where the interface is served. @see https://spec.openapis.org/oas/v3.1.1.html#server-object */
export interface OpenApiServer {
  /** A URL, or a path on the server of the document. */
  readonly url: string
  /** What kind of server it is. */
  readonly description?: string
}

/** An OpenAPI 3.1 document. @see https://spec.openapis.org/oas/v3.1.1.html */
export interface OpenApiDocument {
  /** The version of OpenAPI. */
  openapi: string
  /** What the document says of the whole. */
  info: OpenApiInfo
  /** Where the interface is served. */
  servers?: readonly OpenApiServer[]
  /** The services, each of which has its operations below a tag of its own. */
  tags?: readonly OpenApiTag[]
  /** The operations, by path and then by verb in lower case. */
  paths: Record<string, Record<string, unknown>>
  /** What operations refer to, by kind and then by name. */
  components: Record<string, Record<string, unknown>>
  /** Further members: `security`, `externalDocs`, `x-…`. */
  [member: string]: unknown
}

/** A name that operations are shown below. */
export interface OpenApiTag {
  /** The path of a service. */
  readonly name: string
  /** What it is for, in Markdown. */
  readonly description?: string
}

/** What the services of a document are served by. */
export interface DocumentOptions {
  /** Path that all services are below, `''` for none. */
  readonly prefix: string
  /** Whether custom methods have paths of their own. */
  readonly methodPaths: boolean
}

/** What services add to a document. */
export type ServiceParts = Pick<OpenApiDocument, 'paths' | 'components'> &
  Required<Pick<OpenApiDocument, 'tags'>>

/** Returns the parts of a document that are about services. */
export function toServiceParts(
  services: readonly ServiceDescription[],
  { prefix, methodPaths }: DocumentOptions,
): ServiceParts {
  const components = new SchemaComponents()
  components.refer('Error', ERROR_SCHEMA)
  const ids = new OperationIds()
  const placed = services.map((service) => ({ service, urls: toServiceUrls(prefix, service.path) }))
  const taken = new Set(placed.map(({ urls }) => toShape(urls.all.path)))
  const hasMethodPath = ({ path }: { path: string }): boolean =>
    methodPaths && !taken.has(toShape(path))
  const scope = { components, ids, hasMethodPath }
  // A service that callers outside can not call is not theirs to know of, its name neither.
  const described = placed.flatMap(({ service, urls }) => {
    const operations = toOperations(scope, service, urls)
    return operations.length === 0 ? [] : [{ name: service.path, operations }]
  })
  const securitySchemes: Record<string, unknown> = {}
  for (const { security } of services.flatMap(({ methods }) => methods)) {
    Object.assign(securitySchemes, security?.schemes)
  }
  return {
    tags: described.map(({ name }) => ({ name })),
    paths: toPaths(described.flatMap(({ operations }) => operations)),
    components: {
      ...components.toJSON(),
      responses: createErrorResponses(),
      ...(Object.keys(securitySchemes).length > 0 ? { securitySchemes } : {}),
    },
  }
}

/**
 * Puts operations together by their paths. Of two paths that differ in the names of parameters only,
 * requests reach the first one.
 */
function toPaths(operations: readonly PlacedOperation[]): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {}
  const shapes = new Map<string, string>()
  for (const { path, verb, operation } of operations) {
    const shape = toShape(path)
    const first = shapes.get(shape) ?? path
    if (first !== path) continue
    shapes.set(shape, path)
    paths[path] = { ...paths[path], [verb]: operation }
  }
  return paths
}

/** Returns a document with the parts of services in it; what it has already stays. */
export function addServices(document: OpenApiDocument, parts: ServiceParts): OpenApiDocument {
  const { paths, components, tags = [] } = document
  return {
    ...document,
    tags: [...tags, ...parts.tags.filter(({ name }) => tags.every((tag) => tag.name !== name))],
    paths: mergeMaps(parts.paths, paths),
    components: mergeMaps(parts.components, components),
  }
}

type Maps = Record<string, Record<string, unknown>>

function mergeMaps(first: Maps, second: Maps): Maps {
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  return Object.fromEntries([...names].map((name) => [name, { ...first[name], ...second[name] }]))
}
