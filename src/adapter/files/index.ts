/**
 * Files: services whose records describe them, and storages for their bytes.
 * @module remex/files
 */

export type {
  DirectUpload,
  FileFacts,
  SentUpload,
  Upload,
  UploadRequest,
} from '../../core/files/file-content.ts'
export type { NewUpload } from './direct-upload.ts'
export { directUploadSchemas } from './direct-upload.ts'
export type { DiskStorageOptions } from './disk-storage.ts'
export { diskStorage } from './disk-storage.ts'
export type { FileRecord, FileServiceOptions, NewFile } from './file-options.ts'
export { FileService } from './file-service.ts'
export type { FileStorage } from './file-storage.ts'
export type { GridFSStorageOptions } from './grid-fs.ts'
export { gridFSStorage } from './grid-fs.ts'
