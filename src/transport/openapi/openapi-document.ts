import type { AnyApplication, Application } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isObject } from '../../core/value-kind.ts'
import type { DocumentOptions, OpenApiDocument, ServiceParts } from './document.ts'
import { addServices, toServiceParts } from './document.ts'
import type { LoadFailure } from './loaded-schemas.ts'
import { loadSchemas, readSchemas } from './loaded-schemas.ts'
import type { OpenApiDocumentOptions } from './openapi-options.ts'
import { checkDocumentOptions, DOCUMENT_RULES } from './openapi-options.ts'
import { describeService } from './service-description.ts'

/** The version of OpenAPI that documents are written in. */
export const OPENAPI_VERSION = '3.1.0'

/** Options of `openapiDocument()`. */
export interface ServiceDocumentOptions extends OpenApiDocumentOptions {
  /** Path that all services are below: the `prefix` of the plugin. Default: none. */
  readonly prefix?: string
  /** Whether `rest()` has the option `methodPaths`. Default: false. */
  readonly methodPaths?: boolean
}

const RULES = { ...DOCUMENT_RULES, prefix: { ...OPTION.string }, methodPaths: OPTION.boolean }

/**
 * Resolves to the OpenAPI document of the services that an application has now, without a server: to
 * write it to a file, or to hand it to `@fastify/swagger` as its option `openapi`.
 * @throws {TypeError} an unknown option, no `info`, or a service whose schemas can not be compiled
 */
export async function openapiDocument(
  app: AnyApplication,
  options: ServiceDocumentOptions,
): Promise<OpenApiDocument> {
  checkDocumentOptions('openapiDocument()', options, RULES)
  const { info, servers, exclude = [], prefix = '', methodPaths = false } = options
  const { parts, failures } = await readServices(
    app as unknown as Application,
    exclude.map(toServicePath),
    { prefix, methodPaths },
  )
  for (const { error } of failures) throw error
  const document = addServices(createDocument({ info, ...(servers && { servers }) }), parts)
  return transformDocument('openapiDocument()', options, document)
}

/**
 * Returns a document as the application wants it.
 * @throws {TypeError} its function returns no document
 */
export function transformDocument(
  owner: string,
  { transform }: Pick<OpenApiDocumentOptions, 'transform'>,
  document: OpenApiDocument,
): OpenApiDocument {
  const transformed: unknown = transform === undefined ? document : transform(document)
  if (isObject(transformed) && isObject(transformed['paths'])) return transformed as OpenApiDocument
  throw new TypeError(
    `${owner}: the function 'transform' must return the document, not ${typeof transformed}`,
  )
}

/** Returns a document without any operations. */
export function createDocument(
  members: Pick<OpenApiDocument, 'info' | 'servers'>,
): OpenApiDocument {
  return { openapi: OPENAPI_VERSION, ...members, paths: {}, components: {} }
}

/** What the services of an application add to a document, and which of them can not. */
interface ReadServices {
  readonly parts: ServiceParts
  readonly failures: readonly LoadFailure[]
}

/** Resolves to what the services of an application add to a document, and which of them can not. */
export async function readServices(
  app: Application,
  excluded: readonly string[],
  options: DocumentOptions,
): Promise<ReadServices> {
  const entries = [...app.entries].filter(([path]) => !excluded.includes(path))
  const failures = await loadSchemas(entries)
  const services = entries.flatMap(([path, entry]) => {
    if (failures.some((failure) => failure.path === path)) return []
    const service = describeService(app, path, entry, readSchemas)
    return service === null ? [] : [service]
  })
  return { parts: toServiceParts(services, options), failures }
}
