import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FileStorage } from './file-storage.ts'

/** Options of {@link diskStorage}. */
export interface DiskStorageOptions {
  /** The folder, created if there is none. Keep it outside of folders that a server serves as static files. */
  readonly directory: string
}

/** Returns a storage that keeps bytes in files of a folder, under their ids. */
export function diskStorage({ directory }: DiskStorageOptions): FileStorage {
  // The last digits of ids are counted up: they spread the files evenly.
  const toPath = (id: string): string => join(directory, id.slice(-2), id)
  return {
    async write(id, content) {
      const path = toPath(id)
      await mkdir(dirname(path), { recursive: true })
      await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
    },
    read(id, start, end) {
      return end > start ? createReadStream(toPath(id), { start, end: end - 1 }) : Readable.from([])
    },
    async remove(id) {
      await rm(toPath(id), { force: true })
    },
  }
}
