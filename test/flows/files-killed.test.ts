import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FileService } from '../../src/adapter/files/index.ts'
import { createApp } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'

const COUNT = 50
const PROGRAM = fileURLToPath(new URL('./files-process.js', import.meta.url))

const { db, url } = await openDatabase(t)

const count = async () =>
  Promise.all(
    ['files', 'files.files', 'files.chunks', 'files.pending'].map((name) =>
      db.collection(name).countDocuments(),
    ),
  )

t.test('FILE-11: the sweep removes what a killed process has left, and nothing else', async (t) => {
  const argument = JSON.stringify({ url, name: db.databaseName, count: COUNT })
  const child = spawn(process.execPath, [PROGRAM, argument], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  t.strictSame(await count(), [0, 0, COUNT, COUNT])
  const app = createApp<{ files: FileService }>()
  const files = new FileService({ Model: db.collection('files') })
  app.use('files', files)
  await app.setup()
  t.teardown(() => app.teardown())
  await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  t.strictSame(await count(), [1, 1, COUNT + 1, COUNT], 'they might still be running')
  t.equal(await files.sweep({ minAgeMs: 0 }), COUNT)
  t.strictSame(await count(), [1, 1, 1, 0])
})
