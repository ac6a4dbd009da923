// Starts every compiled example of `build/examples`, or of the folder that is named first, or those
// named after it, on a free port: each file, and the `server.js` of each folder. Waits for the first
// answer over HTTP, interrupts the example, and expects it to end: with status 0 or, where it does not
// catch the signal, by the signal. An example that serves nothing has to end with status 0.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from './free-port.mjs'

const [FOLDER = 'build/examples', ...names] = process.argv.slice(2)
const START_MS = 600_000
const STOP_MS = 10_000

async function checkExample(file, attempts = 3) {
  const port = await findFreePort()
  const data = mkdtempSync(join(tmpdir(), 'remex-example-'))
  const env = { ...process.env, PORT: String(port), HOST: '127.0.0.1', DATA_DIRECTORY: data }
  const child = spawn(process.execPath, [join(FOLDER, file)], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  let ended = false
  const end = new Promise((resolve) => {
    child.once('close', (code, signal) => {
      ended = true
      resolve(signal ?? code)
    })
  })

  const status = await firstStatus(`http://127.0.0.1:${port}/`, () => ended)
  if (status !== undefined) child.kill('SIGINT')
  const result = await Promise.race([end, delay(STOP_MS, 'still running', { ref: false })])
  if (!ended) child.kill('SIGKILL')
  rmSync(data, { recursive: true, force: true })

  // Somebody else has taken the port since it was found.
  if (attempts > 1 && output.includes('EADDRINUSE')) return checkExample(file, attempts - 1)
  const passed =
    status === undefined ? result === 0 : status < 500 && (result === 0 || result === 'SIGINT')
  const answer = status === undefined ? 'no HTTP' : `GET / ${status}`
  console.log(`${passed ? 'ok' : 'not ok'} - ${file} (${answer}, ended with ${result})`)
  if (!passed) console.log(output)
  return passed
}

/** Returns the file to start of what is in the folder, if it is an example. */
function toExample(name) {
  if (name.endsWith('.js')) return name
  const server = join(name, 'server.js')
  return existsSync(join(FOLDER, server)) ? server : []
}

async function firstStatus(url, hasEnded) {
  const deadline = Date.now() + START_MS
  while (!hasEnded() && Date.now() < deadline) {
    try {
      const response = await fetch(url)
      await response.arrayBuffer()
      return response.status
    } catch {
      await delay(100)
    }
  }
  return undefined
}

const files = names.length > 0 ? names : readdirSync(FOLDER).flatMap(toExample)
if (files.length === 0) throw new Error(`No example in ${FOLDER}`)
for (const file of files) if (!(await checkExample(file))) process.exitCode = 1
