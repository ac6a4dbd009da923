/**
 * Uploads and downloads for clients.
 * @module remex/client/files
 */

export type { TransferOptions, UploadOptions } from './files.ts'
export { download, files, upload } from './files.ts'
export type { OnProgress } from './sent-file.ts'
