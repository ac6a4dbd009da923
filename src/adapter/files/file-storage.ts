import type { FileFacts, UploadRequest } from '../../core/files/file-content.ts'

/** Where the bytes of files are kept. An id is 24 hexadecimal digits, and content never changes. */
export interface FileStorage {
  /** Stores the bytes of a new file. Rejects with what `content` throws; what was written then is removed later. */
  write(id: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /** Returns the bytes from one place up to, but not including, another. */
  read(id: string, start: number, end: number): AsyncIterable<Uint8Array>
  /** Removes the bytes of a file, or the part that was written. Does nothing if there are none. */
  remove(id: string): Promise<void>
  /**
   * Resolves to a URL of another server from which the caller, who may read the file, gets its bytes. It should expire
   * soon. Default: the application sends the bytes.
   * @param file its type is the header `Content-Type` of the response
   * @param disposition the header `Content-Disposition` of the response
   */
  link?(id: string, file: FileFacts, disposition: string): Promise<string>
  /**
   * Resolves to a request by which a client may send the bytes of a new file, as many as `size`. Services need it, and
   * `takeUpload`, for direct uploads.
   * @param expiresInMs when the storage stops accepting the request
   */
  requestUpload?(
    id: string,
    file: Pick<FileFacts, 'size' | 'type'>,
    expiresInMs: number,
  ): Promise<UploadRequest>
  /** Takes over what a client has sent, so that the client can no longer change it. Resolves to whether there was any. */
  takeUpload?(id: string): Promise<boolean>
}

/** A storage to which clients send bytes themselves. */
export type DirectStorage = FileStorage &
  Required<Pick<FileStorage, 'requestUpload' | 'takeUpload'>>
