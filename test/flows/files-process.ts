// A process that stores files of files-killed.test.ts, and says when they have begun.
import { once } from 'node:events'
import { MongoClient } from 'mongodb'
import { FileService } from '../../src/adapter/files/index.ts'
import { createApp } from '../../src/core/index.ts'

const { url, name, count } = JSON.parse(process.argv[2] ?? '') as Record<'url' | 'name', string> & {
  readonly count: number
}

const client = new MongoClient(url)
const app = createApp<{ files: FileService }>()
app.use('files', new FileService({ Model: client.db(name).collection('files') }))
await app.setup()

/** Begins, and never ends. */
async function* content(): AsyncGenerator<Uint8Array, void> {
  yield Buffer.alloc(300_000)
  begun += 1
  if (begun === count) console.log('begun')
  await once(process, 'never')
}

let begun = 0
for (let index = 0; index < count; index += 1) {
  void app.service('files').create({ name: `${index}` }, { upload: { content: content() } })
}
// Keeps the process.
process.stdin.resume()
