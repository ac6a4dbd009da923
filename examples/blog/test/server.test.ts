import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('../server.js', import.meta.url))

/** Starts the server in its own process, with these environment variables. */
function start(variables: Readonly<Record<string, string>>) {
  const unset = { NODE_ENV: undefined, MONGODB_URL: undefined, AUTH_SECRET: undefined }
  const env = { ...process.env, ...unset, PORT: '0', ...variables }
  return spawn(process.execPath, [server], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

test('does not start in production without a database and a secret', async () => {
  const set = {
    MONGODB_URL: 'mongodb://127.0.0.1:1',
    AUTH_SECRET: 'for tests: a secret of 32 bytes.',
  }
  for (const name of ['MONGODB_URL', 'AUTH_SECRET']) {
    const child = start({ ...set, [name]: '', NODE_ENV: 'production' })
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
    assert.equal(output, '')
    assert.match(errors, new RegExp(`Error: ${name} must be set`))
  }
})

test('starts without them in development, and prints its database', async (t) => {
  const imageFolder = await mkdtemp(join(tmpdir(), 'blog-'))
  t.after(() => rm(imageFolder, { recursive: true }))
  const child = start({ IMAGE_FOLDER: imageFolder })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    output += more
    if (output.includes('The blog is at')) child.kill()
  })
  const errors = await text(child.stderr)
  assert.match(output, /^The database is in memory, which forgets everything\.$/m, errors)
})
