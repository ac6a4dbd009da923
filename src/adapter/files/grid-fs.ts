import type { Db, Document } from 'mongodb'
import { GridFSBucket, ObjectId } from 'mongodb'
import { callDatabase } from '../driver-error.ts'
import type { FileStorage } from './file-storage.ts'

/** Options of {@link gridFSStorage}. */
export interface GridFSStorageOptions {
  /** The name of the bucket: its collections are `<bucketName>.files` and `<bucketName>.chunks`. Default: `'fs'`. */
  readonly bucketName?: string
}

/** How many chunks of 255 KiB a download has in memory. */
const CHUNKS_AT_ONCE = 8

/** Returns a storage that keeps bytes in MongoDB. */
export function gridFSStorage(
  db: Db,
  { bucketName = 'fs' }: GridFSStorageOptions = {},
): FileStorage {
  const bucket = new GridFSBucket(db, { bucketName })
  const chunks = db.collection(`${bucketName}.chunks`)
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
      const files_id = new ObjectId(id)
      const file = await callDatabase(() => bucket.find({ _id: files_id }).next())
      if (file === null) throw new Error(`The bucket '${bucketName}' has no file ${id}`)
      const { chunkSize } = file
      let n = Math.floor(start / chunkSize)
      // The stream of the driver reads 16 MB at a time.
      const cursor = chunks
        .find({ files_id, n: { $gte: n, $lt: Math.ceil(end / chunkSize) } })
        .sort({ files_id: 1, n: 1 })
        .batchSize(CHUNKS_AT_ONCE)
      try {
        for (let at = start; at < end; n += 1) {
          const bytes = toBytes(await callDatabase(() => cursor.next()), n)
          const from = at - n * chunkSize
          const part = bytes.subarray(from, from + end - at)
          if (part.length === 0) throw new Error(`A chunk of file ${id} is too short`)
          at += part.length
          yield part
        }
      } finally {
        await cursor.close()
      }
    },

    async remove(id) {
      const files_id = new ObjectId(id)
      await callDatabase(() => db.collection(`${bucketName}.files`).deleteOne({ _id: files_id }))
      await callDatabase(() => chunks.deleteMany({ files_id }))
    },
  }
}

/** @throws {Error} the chunk is missing */
function toBytes(chunk: Document | null, n: number): Uint8Array {
  if (chunk?.['n'] !== n) throw new Error(`A chunk of file ${chunk?.['files_id']} is missing`)
  return (chunk['data'] as { buffer: Uint8Array }).buffer
}
