import type { Id, Query } from '../params.ts'

/** The bytes of a new file, and what its sender says about them. */
export interface Upload {
  /** The bytes. They are read once, after all hooks that run before `create`. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array>
  /** The name, if the data of the call has none. */
  readonly name?: string | undefined
  /** The media type that the sender declares; the stored one depends on the content. */
  readonly type?: string | undefined
  /** The number of bytes that the sender declares; `undefined` if it is unknown. */
  readonly size?: number | undefined
}

/** A request by which a client sends the bytes of a file to a storage. The method is `PUT`. */
export interface UploadRequest {
  /** Where it is sent to; expires. */
  readonly url: string
  /** The headers that it must have. */
  readonly headers: Readonly<Record<string, string>>
}

/** How a client sends the bytes of a file, and the token with which it then creates the file. */
export interface DirectUpload extends UploadRequest {
  /** The method of the request. */
  readonly method: 'PUT'
  /** Creates the file once the bytes are there. Single-use. */
  readonly token: string
}

/** A new file whose bytes a client has sent to the storage itself. */
export interface SentUpload extends Pick<Upload, 'name'> {
  /** The single-use token that `createUpload()` returned. */
  readonly token: string
  /** Called for each part that is read, to restart the time limit of the call. */
  readonly onRead?: (() => void) | undefined
}

/** The fields that every record of a file has. */
export interface FileFacts {
  /** The name, without path and control characters. */
  readonly name: string
  /** The media type, by the content if that is recognised, otherwise as declared. */
  readonly type: string
  /** The number of bytes. */
  readonly size: number
  /** The SHA-256 of the bytes, in hexadecimal digits. */
  readonly hash: string
}

/** A file whose bytes can be read. */
export interface StoredFile extends FileFacts {
  /** Whether a browser may display it, instead of saving it. */
  readonly isInline: boolean
  /** Returns the bytes from one place up to, but not including, another. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
  /** Resolves to a URL from which the caller can get the bytes, `null` if there is none. */
  findURL(type: string, disposition: string): Promise<string | null>
}

/** The key of a property that services with files have: other services may have methods of these names. */
export const FILE_STORE: unique symbol = Symbol('remex.fileStore')

/** A service whose records describe files. */
export interface FileStore {
  /** Whether uploads may be forms, `multipart/form-data`. */
  readonly takesForms: boolean
  /** Whether there are signed links to the content. */
  readonly hasLinks: boolean
  /** Whether the content may be at another server. */
  readonly redirects: boolean
  /**
   * Resolves to a file for a caller who may read it: no hook runs.
   * @throws {NotFound} there is none
   */
  openFile(id: Id): Promise<StoredFile>
  /**
   * Checks the query of a signed link to the content of a file.
   * @throws {Forbidden} the signature is wrong, or the link has expired
   */
  checkLink(id: Id, query: Query): void
}

/** Whether a service has files. */
export function isFileStore(service: object): service is FileStore {
  return FILE_STORE in service
}

declare module '../params.ts' {
  interface Params<Q> {
    /** The content of a file to create, or where it was sent. */
    upload?: Upload | SentUpload | undefined
  }
}
