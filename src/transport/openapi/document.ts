import { OptionError } from '../../core/errors/setup-errors.ts'
import type { AnyApplication, Application, ServiceEntry } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import { Components, ERROR_SCHEMA } from './components.ts'
import { toShape, toUrl } from './operation-path.ts'
import type { PlacedOperation } from './operations.ts'
import { ServiceOperations } from './operations.ts'
import type { SecuritySchemes } from './security.ts'

/** The description of the whole document. @see https://spec.openapis.org/oas/v3.1.1.html#info-object */
export interface OpenApiInfo {
  /** The name of the interface. */
  readonly title: string
  /** Its version: that of the interface, not of OpenAPI. */
  readonly version: string
  /** What it is for, in Markdown. */
  readonly description?: string
  /** Other members of the object: `contact`, `license`. */
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
  servers?: OpenApiServer[]
  /** The services. Each has its own tag for its operations. */
  tags?: OpenApiTag[]
  /** The operations, by path and then by verb in lower case. */
  paths: Record<string, Record<string, unknown>>
  /** What operations refer to, by kind and then by name. */
  components: Record<string, Record<string, unknown>>
  /** Other members: `security`, `externalDocs`, `x-…`. */
  [member: string]: unknown
}

/** A heading for operations. */
export interface OpenApiTag {
  /** The path of a service. */
  readonly name: string
  /** What it is for, in Markdown. */
  readonly description?: string
}

/** The content of a document in addition to the services. */
export interface OpenApiDocumentOptions {
  /** The title and the version of the interface, and other members of OpenAPI's `info`. */
  readonly info: OpenApiInfo
  /** Where the interface is served. Default: on the server of the document. */
  readonly servers?: readonly OpenApiServer[]
  /** The paths of services to leave out. Default: none. */
  readonly exclude?: readonly string[]
  /**
   * Returns the document to serve. Use it to add summaries, examples or other security schemes. It may change the
   * document that it gets. Default: the document unchanged.
   */
  readonly transform?: (document: OpenApiDocument) => OpenApiDocument
}

/** Options of `openapiDocument()`. */
export interface ServiceDocumentOptions extends OpenApiDocumentOptions {
  /** The prefix of all services: that of the plugin. Default: none. */
  readonly prefix?: string
  /** Whether `rest()` has the option `methodPaths`. Default: false. */
  readonly methodPaths?: boolean
  /** Whether `rest()` has the option `queryBodies`. Default: false. */
  readonly queryBodies?: boolean
}

/** The rules of the options of every document. */
export const DOCUMENT_RULES: OptionRules = {
  info: {
    expected: 'an object with a title and a version',
    isValid: (value) =>
      isObject(value) && isNonEmptyString(value['title']) && isNonEmptyString(value['version']),
  },
  servers: {
    expected: 'a list of objects, each with a url',
    isValid: (value) => Array.isArray(value) && value.every((one) => isNonEmptyString(one?.url)),
  },
  exclude: OPTION.stringList,
  transform: OPTION.function,
}

const RULES = {
  ...DOCUMENT_RULES,
  prefix: { ...OPTION.string },
  methodPaths: OPTION.boolean,
  queryBodies: OPTION.boolean,
}

/** The version of OpenAPI that documents are written in. */
export const OPENAPI_VERSION = '3.1.0'

/**
 * Resolves to the OpenAPI document of the current services of an application, without a server: to write it to a file,
 * or to pass it to `@fastify/swagger` as its option `openapi`.
 * @throws {TypeError} an option is unknown, `info` is missing, or the schemas of a service cannot be compiled
 */
export async function openapiDocument(
  app: AnyApplication,
  options: ServiceDocumentOptions,
): Promise<OpenApiDocument> {
  checkDocumentOptions('openapiDocument()', options, RULES)
  const services = app as unknown as Application
  const document = await addServices(createDocument(options), services, options, (error) => {
    throw error
  })
  return transformDocument('openapiDocument()', options, document)
}

/** @throws {TypeError} an option is unknown or invalid, or `info` is missing */
export function checkDocumentOptions(owner: string, options: object, rules: OptionRules): void {
  checkOptions(owner, options, rules)
  if ((options as Partial<OpenApiDocumentOptions>).info !== undefined) return
  throw new OptionError(
    `${owner} needs the option 'info': { title: 'Countries', version: '1.0.0' }`,
  )
}

/** Returns a document without any operations. */
export function createDocument({ info, servers }: OpenApiDocumentOptions): OpenApiDocument {
  return {
    openapi: OPENAPI_VERSION,
    info,
    ...(servers && { servers: [...servers] }),
    paths: {},
    components: {},
  }
}

/**
 * Returns a document after the application's changes.
 * @throws {TypeError} its function does not return a document
 */
export function transformDocument(
  owner: string,
  { transform }: Pick<OpenApiDocumentOptions, 'transform'>,
  document: OpenApiDocument,
): OpenApiDocument {
  const transformed: unknown = transform === undefined ? document : transform(document)
  if (isObject(transformed) && isObject(transformed['paths'])) return transformed as OpenApiDocument
  throw new OptionError(
    `${owner}: the function 'transform' must return the document, not ${typeof transformed}`,
  )
}

/**
 * Resolves to a document with the services of an application added. Existing content is kept.
 * @param tellFailure called with each service that the document lacks, as its schemas cannot be compiled
 * @param routeSchemes the security schemes that the routes of the document name
 */
export async function addServices(
  document: OpenApiDocument,
  app: Application,
  { prefix = '', methodPaths = false, queryBodies = false, exclude = [] }: ServiceDocumentOptions,
  tellFailure: (error: unknown, path: string) => void,
  routeSchemes: SecuritySchemes = {},
): Promise<OpenApiDocument> {
  const excluded = exclude.map(toServicePath)
  const loading = [...app.entries].map(async ([path, entry]): Promise<[string, ServiceEntry][]> => {
    // Browsers are sent to pages; programs do not call them.
    if (excluded.includes(path) || entry.options.page) return []
    try {
      await entry.schemas?.load()
      return [[path, entry]]
    } catch (error) {
      tellFailure(error, path)
      return []
    }
  })
  const entries = (await Promise.all(loading)).flat()
  const components = new Components(routeSchemes)
  components.refer('Error', ERROR_SCHEMA)
  const taken = new Set(entries.map(([path]) => toShape(toUrl(prefix, path, false).path)))
  const hasMethodPath = (path: string): boolean => methodPaths && !taken.has(toShape(path))
  const scope = { app, components, prefix, hasMethodPath, takesQueryBodies: queryBodies }
  const operations = entries.flatMap(([path, entry]) =>
    new ServiceOperations(scope, path, entry).create(),
  )
  const { tags = [] } = document
  // A service that external callers cannot call must not be revealed, not even by its name.
  const names = new Set(operations.map(({ service }) => service))
  for (const { name } of tags) names.delete(name)
  return {
    ...document,
    tags: [...tags, ...[...names].map((name) => ({ name }))],
    paths: mergeMaps(toPaths(operations), document.paths),
    components: mergeMaps(components.toJSON(), document.components),
  }
}

/**
 * Groups operations by their paths. Of two paths that differ only in the names of parameters, requests reach the first
 * one.
 */
function toPaths(operations: readonly PlacedOperation[]): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {}
  const firsts = new Map<string, string>()
  for (const { path, verb, operation } of operations) {
    if (getOrAdd(firsts, toShape(path), () => path) !== path) continue
    paths[path] = { ...paths[path], [verb]: operation }
  }
  return paths
}

type Maps = Readonly<Record<string, Readonly<Record<string, unknown>>>>

function mergeMaps(first: Maps, second: Maps): Record<string, Record<string, unknown>> {
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  return Object.fromEntries([...names].map((name) => [name, { ...first[name], ...second[name] }]))
}
