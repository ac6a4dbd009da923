// Runs compiled test files, each by Node itself in a process of its own. The runner of tap costs as
// much again as the tests do, for what it watches in each process, and CI runs them several times.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const FOLDER = 'build/test'
/** How many files run at a time: every core has work while tests wait for something. */
const JOBS = Math.max(3, availableParallelism())
/** Seconds after which a file is ended: it waits for what never happens. */
const TIMEOUT_S = 300

/** Returns the path of every compiled test. */
export function findTestFiles() {
  const names = readdirSync(FOLDER, { recursive: true }).map(String)
  const files = names.filter((name) => name.endsWith('.test.js')).sort()
  return files.map((name) => join(FOLDER, name))
}

/**
 * Runs files, a few at a time. Resolves to the number of assertions and, for each file that failed,
 * its name and what it has written.
 * @param label tells this run from others at the same time: tap makes it part of the names of the
 *   folders that tests write to
 * @param children a set that holds the processes as long as they run, for those who have to end them
 */
export async function runTestFiles({ node = process.execPath, files, env = {}, label, children }) {
  const options = { env, args: label === undefined ? [] : [label], children }
  const waiting = [...files]
  const failures = []
  let total = 0
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const { code, output } = await runFile(node, file, options)
      // What a test prints itself is indented, so only the summary of the file starts a line.
      const count = Number(/^# \{ total: (\d+)/m.exec(output)?.[1] ?? 0)
      total += count
      if (code !== 0 || count === 0)
        failures.push({ file, output: `${output}\n# status ${code}\n` })
    }
  }
  await Promise.all(Array.from({ length: JOBS }, work))
  return { total, failures }
}

/** Returns the lines that say which assertions of an output failed. */
export function findFailedLines(output) {
  return output.split('\n').filter((line) => /^\s*not ok/.test(line))
}

function runFile(node, file, { env, args, children }) {
  return new Promise((resolve) => {
    const child = spawn(node, ['--enable-source-maps', file, ...args], {
      env: { ...process.env, TAP_TIMEOUT: String(TIMEOUT_S), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children?.add(child)
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (one) => chunks.push(one))
    child.once('close', (code, signal) => {
      children?.delete(child)
      resolve({ code: code ?? signal, output: Buffer.concat(chunks).toString() })
    })
  })
}
