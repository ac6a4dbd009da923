// Starts a program on a free port, waits for its first answer over HTTP, and interrupts it as Ctrl+C does.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from './free-port.mjs'

const START_MS = 600_000
const STOP_MS = 10_000
const windows = process.platform === 'win32'

/**
 * Runs a command with a free `PORT`, and prints the outcome. Resolves to whether `GET /` returned a status below 500, and
 * the program then ended with status 0 or by the signal.
 * @param mustServe whether a program that ends before it answers has failed, even with status 0
 */
export async function checkProgram(command, words, mustServe = false, attempts = 3) {
  const port = await findFreePort()
  const data = mkdtempSync(join(tmpdir(), 'remex-program-'))
  const env = { ...process.env, PORT: String(port), HOST: '127.0.0.1', DATA_DIRECTORY: data }
  // A process group: a terminal interrupts what the command has started, too.
  const child = spawn(command, words, { env, detached: !windows })
  const signal = (name) => (windows ? child.kill(name) : process.kill(-child.pid, name))
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
  if (status !== undefined && !ended) signal('SIGINT')
  const result = await Promise.race([end, delay(STOP_MS, 'still running', { ref: false })])
  if (!ended) signal('SIGKILL')
  rmSync(data, { recursive: true, force: true })

  // Another program has taken the port since it was found.
  if (attempts > 1 && output.includes('EADDRINUSE')) {
    return checkProgram(command, words, mustServe, attempts - 1)
  }
  const passed =
    status === undefined
      ? result === 0 && !mustServe
      : status < 500 && (result === 0 || result === 'SIGINT')
  const answer = status === undefined ? 'no HTTP' : `GET / ${status}`
  const title = [basename(command), ...words].join(' ')
  console.log(`${passed ? 'ok' : 'not ok'} - ${title} (${answer}, ended with ${result})`)
  if (!passed) console.log(output)
  return passed
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
