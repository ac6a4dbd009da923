// Runs compiled test files, each by Node itself in a process of its own. The runner of tap costs a third
// on top of the tests, for what it watches in each process, and CI runs them several times. Source maps
// would cost a tenth: a failure names a line in `build`. A file passes when its process ends with status
// 0, has printed a plan, every result of the plan and their counts, and no test of it is an `only`.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

const FOLDER = 'build/test'
/** How many files run at a time: every core has work while half of them wait for something. */
const JOBS = Math.max(3, 2 * availableParallelism())
/** Seconds after which a file ends itself, and says what it waits for: that never happens. */
const TIMEOUT_S = 600
/** Seconds after which one that does not is killed, as its event loop is blocked. */
const KILL_S = TIMEOUT_S + 30
/** Has a process write what it still does, before it is killed. */
const REPORT_SIGNAL = 'SIGUSR2'
/** How long it may take to write that. */
const REPORT_MS = 10_000
/** How many files have been started: each has a report of its own. */
let started = 0
/** What tap reads of the environment to run a part of the tests: all are run here. */
const FILTERS = { TAP_GREP: undefined, TAP_INVERT: undefined, TAP_ONLY: undefined }

/** Returns the path of every compiled test. */
export function findTestFiles() {
  const names = readdirSync(FOLDER, { recursive: true }).map(String)
  const files = names.filter((name) => name.endsWith('.test.js')).sort()
  return files.map((name) => join(FOLDER, name))
}

/**
 * Runs files, a few at a time. Resolves to the sum of the assertions and, for each file that failed,
 * its name, why, and what it has written.
 * @param label tells this run from others at the same time: tap makes it part of the names of the
 *   folders that tests write to
 * @param children a set that holds the processes as long as they run, for those who have to end them
 * @param jobs how many files run at a time
 * @param onFile is called with the result of each file when it has ended
 * @param killSeconds when a file is killed that does not end itself
 */
export async function runTestFiles(options) {
  const { files, onFile, jobs = JOBS, ...others } = options
  const waiting = [...files]
  const failures = []
  let total = 0
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file, others)
      onFile?.(result)
      total += result.counts.total
      if (result.fault !== undefined) failures.push(result)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return { total, failures }
}

/** Returns the lines that say which assertions of an output failed. */
export function findFailedLines(output) {
  return output.split('\n').filter((line) => /^\s*not ok/.test(line))
}

function runFile(
  file,
  { node = process.execPath, env = {}, label, children, killSeconds = KILL_S },
) {
  return new Promise((resolve) => {
    const startedAt = performance.now()
    const report = join(tmpdir(), `remex-test-${process.pid}-${++started}.json`)
    const child = spawn(node, [...toReportOptions(report), file, ...(label ? [label] : [])], {
      env: { ...process.env, ...FILTERS, TAP_TIMEOUT: String(TIMEOUT_S), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children?.add(child)
    const chunks = []
    const printed = []
    child.stdout.on('data', (chunk) => printed.push(chunk))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (one) => chunks.push(one))
    let isLate = false
    const end = (status) => {
      clearTimeout(timer)
      children?.delete(child)
      const output = Buffer.concat(chunks).toString() + takeReport(report)
      const results = Buffer.concat(printed).toString()
      const counts = readCounts(results)
      const fault = isLate ? `no end after ${killSeconds} s` : findFault(status, results, counts)
      resolve({ file, output, counts, fault, seconds: (performance.now() - startedAt) / 1000 })
    }
    // A process that it has started and left behind keeps the pipes open, so `close` may never come.
    const kill = () => {
      child.kill('SIGKILL')
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    }
    let timer = setTimeout(() => {
      isLate = true
      // Windows has no such signal.
      if (process.platform === 'win32') kill()
      else if (child.kill(REPORT_SIGNAL)) timer = setTimeout(kill, REPORT_MS)
    }, killSeconds * 1000)
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => end(code ?? signal))
  })
}

/** Returns the options of Node for a report of a process at a path. */
function toReportOptions(path) {
  const place = [`--report-directory=${dirname(path)}`, `--report-filename=${basename(path)}`]
  return ['--report-on-signal', `--report-signal=${REPORT_SIGNAL}`, '--report-compact', ...place]
}

/** Returns the stack in a report, and the handles that keep the process alive; `''` without a report. */
function takeReport(path) {
  if (!existsSync(path)) return ''
  const { javascriptStack, libuv } = JSON.parse(readFileSync(path, 'utf8'))
  rmSync(path)
  const handles = libuv.filter((handle) => handle.is_active && handle.is_referenced)
  return JSON.stringify({ stack: javascriptStack.stack, handles }, null, 2)
}

/** Returns the counts that tap prints at the end: what is not there is 0. */
function readCounts(output) {
  // What a subtest prints is indented, so only the summary of the file starts a line.
  const summary = [...output.matchAll(/^# \{([^}]*)\}$/gm)].at(-1)?.[1] ?? ''
  const count = (name) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
  const names = ['total', 'pass', 'fail', 'skip', 'todo']
  return Object.fromEntries(names.map((name) => [name, count(name)]))
}

/** Returns why a file has failed, `undefined` when it has passed. */
function findFault(status, output, { total, pass, fail, skip, todo }) {
  const plans = [...output.matchAll(/^1\.\.(\d+)/gm)].map(([, last]) => Number(last))
  const results = output.match(/^(not )?ok\b/gm)?.length ?? 0
  if (status !== 0) return `status ${status}`
  if (plans.length !== 1) return `${plans.length} plans`
  if (plans[0] === 0 || total === 0) return 'no tests'
  const summaries = output.match(/^# \{.*\}$/gm)?.length ?? 0
  if (summaries !== 1) return `${summaries} summaries`
  if (results !== plans[0]) return `${results} results for a plan of ${plans[0]}`
  if (/^not ok(?!.*# (SKIP|TODO))/m.test(output)) return 'a test is `not ok`'
  if (fail > 0 || pass + skip + todo !== total) return `${fail} of ${total} assertions failed`
  if (/^\s*# ".*" has `only` set but all tests run$/m.test(output)) return 'a test is an `only`'
  return undefined
}
