import type { Db } from 'mongodb'
import { GridFSBucket, ObjectId } from 'mongodb'
import { callDatabase, toDatabaseError } from '../driver-error.ts'
import type { FileStorage } from './file-storage.ts'

/** Options of {@link gridFSStorage}. */
export interface GridFSStorageOptions {
  /** The name of the bucket: its collections are `<bucketName>.files` and `<bucketName>.chunks`. Default: `'fs'`. */
  readonly bucketName?: string
}

/** How much a download reads at a time: eight chunks. With one stream, the driver would read 16 MB. */
const WINDOW_BYTES = 8 * 255 * 1_024

/** Returns a storage that keeps bytes in MongoDB. */
export function gridFSStorage(
  db: Db,
  { bucketName = 'fs' }: GridFSStorageOptions = {},
): FileStorage {
  const bucket = new GridFSBucket(db, { bucketName })
  return {
    async write(id, content) {
      const stream = bucket.openUploadStreamWithId(new ObjectId(id), id)
      // Each step gets the error itself.
      stream.on('error', () => undefined)
      // One step at a time: if the content breaks off, no write is under way that could come after the removal.
      const run = (start: (done: (error?: Error | null) => void) => void): Promise<void> =>
        callDatabase(
          () =>
            new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve()))),
        )
      for await (const part of content) await run((done) => stream.write(part, done))
      await run((done) => stream.end(done))
    },

    async *read(id, start, end) {
      const _id = new ObjectId(id)
      try {
        for (let from = start; from < end; ) {
          const to = Math.min(end, from - (from % WINDOW_BYTES) + WINDOW_BYTES)
          yield* bucket.openDownloadStream(_id, { start: from, end: to })
          from = to
        }
      } catch (error) {
        throw toDatabaseError(error)
      }
    },

    async remove(id) {
      const _id = new ObjectId(id)
      await callDatabase(() => db.collection(`${bucketName}.files`).deleteOne({ _id }))
      await callDatabase(() => db.collection(`${bucketName}.chunks`).deleteMany({ files_id: _id }))
    },
  }
}
