import { createHash } from 'node:crypto'
import type { Application } from '../../core/index.ts'
import type { DocumentOptions, OpenApiDocument } from './document.ts'
import { addServices } from './document.ts'
import { readServices, transformDocument } from './openapi-document.ts'
import type { ResolvedOpenApiOptions } from './openapi-options.ts'

/** A document as it is sent, written once for all requests. */
export interface WrittenDocument {
  readonly json: string
  /** Resolves to the document as YAML. A large one takes a third of a second the first time. */
  readonly yaml: () => Promise<string>
  /** The entity tag of the document. @see RFC 9110 §8.8.3 */
  readonly tag: string
}

/** The document of a server, written anew when services have come or gone. */
export class LiveDocument {
  readonly #app: Application
  readonly #options: ResolvedOpenApiOptions
  readonly #documentOptions: DocumentOptions
  /** Returns what the routes of the server add. */
  readonly #readServer: () => OpenApiDocument
  readonly #stop: () => void
  #written: Promise<WrittenDocument> | null = null

  constructor(
    app: Application,
    options: ResolvedOpenApiOptions,
    documentOptions: DocumentOptions,
    readServer: () => OpenApiDocument,
  ) {
    this.#app = app
    this.#options = options
    this.#documentOptions = documentOptions
    this.#readServer = readServer
    this.#stop = app.observe(() => {
      this.#written = null
    })
  }

  /** Resolves to the document of the services that are there now. */
  read(): Promise<WrittenDocument> {
    const writing = this.#written ?? this.#write()
    this.#written = writing
    writing.catch(() => {
      // The next request tries again: the function `transform` may depend on more than the document.
      if (this.#written === writing) this.#written = null
    })
    return writing
  }

  /** Ends the watch over services. */
  close(): void {
    this.#stop()
  }

  async #write(): Promise<WrittenDocument> {
    const { exclude } = this.#options
    const { parts, failures } = await readServices(this.#app, exclude, this.#documentOptions)
    // The start fails by itself then; one that is added later answers each call with an error.
    for (const { path, error } of failures) {
      this.#app.logger.error({ err: error, path }, 'openapi(): the document lacks a service')
    }
    // A copy, which the application may change: that of the routes is kept by its plugin.
    const written = structuredClone(addServices(this.#readServer(), parts))
    const document = transformDocument('openapi()', this.#options, written)
    const json = JSON.stringify(document)
    const hash = createHash('sha256').update(json).digest('base64url')
    let yaml: Promise<string> | null = null
    return { json, yaml: () => (yaml ??= toYAML(json)), tag: `"${hash}"` }
  }
}

/**
 * Returns the same document as YAML, which has forms for dates and maps that JSON has not. Its package is
 * loaded only where somebody asks for it, as few do.
 */
async function toYAML(json: string): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(JSON.parse(json), { aliasDuplicateObjects: false })
}
