import { stripSlashes, toServicePath } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'
import type { OpenApiDocument, OpenApiInfo, OpenApiServer } from './document.ts'

/** What the document of an application says beside its services. */
export interface OpenApiDocumentOptions {
  /** The title and the version of the interface, and what else OpenAPI has for it. */
  readonly info: OpenApiInfo
  /** Where the interface is served. Default: on the server of the document. */
  readonly servers?: readonly OpenApiServer[]
  /** The paths of services that are left out. Default: none. */
  readonly exclude?: readonly string[]
  /**
   * Returns the document to serve, for what only you know: summaries, examples, other security
   * schemes. It may change the document that it gets. Default: the document as it is.
   */
  readonly transform?: (document: OpenApiDocument) => OpenApiDocument
}

/** Options of `openapi()`. */
export interface OpenApiOptions extends OpenApiDocumentOptions {
  /** Where the page is; the document is at `<path>/json`. Default: `'/docs'`. */
  readonly path?: string
}

/** Options of `openapi()`, with the defaults. */
export type ResolvedOpenApiOptions = OpenApiOptions &
  Required<Pick<OpenApiOptions, 'path' | 'exclude'>>

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

const RULES: OptionRules = {
  ...DOCUMENT_RULES,
  path: {
    expected: "a path of plain segments, '/docs' for example",
    isValid: isPlainPath,
  },
}

function isPlainPath(value: unknown): boolean {
  if (typeof value !== 'string' || !value.startsWith('/')) return false
  const [, ...segments] = value.replace(/\/$/, '').split('/')
  return segments.length > 0 && segments.every((segment) => /^[A-Za-z0-9._~-]+$/.test(segment))
}

/** @throws {TypeError} an unknown option, an invalid one, or no `info` */
export function checkDocumentOptions(owner: string, options: object, rules: OptionRules): void {
  checkOptions(owner, options, rules)
  if ((options as Partial<OpenApiDocumentOptions>).info !== undefined) return
  throw new TypeError(`${owner} needs the option 'info': { title: 'Countries', version: '1.0.0' }`)
}

/** Returns the options with their defaults. @throws {TypeError} as `checkDocumentOptions` does */
export function resolveOpenApiOptions(options: OpenApiOptions): ResolvedOpenApiOptions {
  checkDocumentOptions('openapi()', options, RULES)
  const { path = '/docs', exclude = [] } = options
  return { ...options, path: `/${stripSlashes(path)}`, exclude: exclude.map(toServicePath) }
}
