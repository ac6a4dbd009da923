// Runs compiled test files by Node itself, several in each process: the runner of tap costs a third on top of
// the tests, for what it watches in each process, and a process for each file as much again, for what all of
// them load. Source maps would cost a tenth: a failure names a line in `build`. A file passes when it has
// printed a plan and every result of the plan, no test of it is an `only`, and its process ends with status 0.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, normalize } from 'node:path'

const PROGRAM = 'scripts/test-group.mjs'
/** How many processes run at a time: every core has work while half of them wait for something. */
const JOBS = Math.max(3, 2 * availableParallelism())
/** How many files share a process at most. */
const GROUP = 12
/** How many processes each job starts at least, so that all end at about the same time. */
const TURNS = 8
/** What a file reads or replaces in the whole process, which it then has to itself. */
const ALONE =
  /\bprocess\.(?:on|once|exit|memoryUsage|getActive\w+|env\S* = )|\bglobalThis\b|\.prototype\.\w+ = |\((?:process|fs|console), \{|\bnode:(?:v8|inspector)\b|entered-functions/
/** Seconds after which a file ends itself, and says what it waits for: that never happens. */
const TIMEOUT_S = 600
/** Seconds without a word after which a process is killed, as its event loop is blocked. */
const SILENCE_S = TIMEOUT_S + 30
/** What tap reads of the environment to run a part of the tests: all are run here. */
const FILTERS = { TAP_GREP: undefined, TAP_INVERT: undefined, TAP_ONLY: undefined }

/** Returns the compiled file of a test, for its name or that of its source. */
export const toCompiledFile = (name) =>
  normalize(name).replace(/^test([\\/].*)\.ts$/, (_source, path) => join('build', `test${path}.js`))

/** Returns the compiled file of every test. What the compiler has left there of others is stale. */
export function findTestFiles() {
  const names = readdirSync('test', { recursive: true }).map((name) => join('test', String(name)))
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .map(toCompiledFile)
    .sort()
}

/**
 * Runs files, a few processes at a time.
 * @param label tells this run from others at the same time: it is a part of the names of the folders that
 *   tests write to
 * @param jobs how many processes run at a time
 * @param onFile is called with the result of each file when its process has ended
 */
export async function runTestFiles({ files, onFile, jobs = JOBS, ...setup }) {
  const waiting = toGroups(files, jobs)
  const work = async () => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      for (const result of await runGroup(group, setup)) onFile(result)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

/** Returns the files of each process. */
function toGroups(files, jobs) {
  const alone = files.filter((file) => ALONE.test(readFileSync(file, 'utf8')))
  const others = files.filter((file) => !alone.includes(file))
  const groups = alone.map((file) => [file])
  const size = Math.min(GROUP, Math.ceil(others.length / (jobs * TURNS)))
  for (let index = 0; index < others.length; index += size) {
    groups.push(others.slice(index, index + size))
  }
  return groups
}

function runGroup(files, { node = process.execPath, env = {}, label = '' }) {
  return new Promise((resolve) => {
    const child = spawn(node, [PROGRAM, label, ...files], {
      env: { ...process.env, ...FILTERS, TAP_TIMEOUT: String(TIMEOUT_S), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed = []
    const errors = []
    let timer
    const end = (status) => {
      clearTimeout(timer)
      const output = Buffer.concat(printed).toString()
      resolve(readResults(files, output, `status ${status}`, Buffer.concat(errors).toString()))
    }
    // A process that it has started and left behind keeps the pipes open, so `close` may never come.
    const kill = () => {
      child.kill('SIGKILL')
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    }
    const watch = () => {
      clearTimeout(timer)
      timer = setTimeout(kill, SILENCE_S * 1000)
    }
    watch()
    child.stdout.on('data', watch).on('data', (chunk) => printed.push(chunk))
    child.stderr.on('data', (chunk) => errors.push(chunk))
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => end(code ?? signal))
  })
}

/**
 * Returns a result for each file of a process: `counts`, `seconds`, the `output`, and a `fault` when it has
 * failed. What is wrong with the process alone is a fault of the last file that it has begun.
 */
function readResults(files, output, outcome, errors) {
  const results = files.map((file) => readFile(file, output, outcome))
  const isExplained = results.some(({ fault }) => fault !== undefined)
  if (outcome !== 'status 0' && !isExplained) {
    Object.assign(results.at(-1), { fault: outcome, output })
  }
  for (const result of results) if (result.fault !== undefined) result.output += errors
  return results
}

/** What is printed for a file: what its tests print is indented. */
function readFile(file, output, outcome) {
  const none = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0, seconds: 0, cpu: 0 }
  const [, after] = `\n${output}`.split(`\n# Subtest: ${file}\n`)
  if (after === undefined) {
    return { file, counts: none, seconds: 0, cpu: 0, output: '', fault: `not begun: ${outcome}` }
  }
  const [body, ...ends] = after.split(/^(?=(?:not )?ok \d+ - build\/test)/m)
  const summary = /^# (\{"total".*\})$/m.exec(ends.join(''))?.[1]
  const { seconds, cpu, ...counts } = { ...none, ...JSON.parse(summary ?? '{}') }
  const own = body.replace(/^ {4}/gm, '')
  const fault = summary === undefined ? `no end: ${outcome}` : findFault(own, counts)
  return { file, counts, seconds, cpu, output: own, fault }
}

/** Returns why a file has failed, `undefined` when it has passed. */
function findFault(output, { total, pass, fail, skip, todo }) {
  const plans = [...output.matchAll(/^1\.\.(\d+)/gm)].map(([, last]) => Number(last))
  const results = output.match(/^(not )?ok\b/gm)?.length ?? 0
  if (plans.length !== 1) return `${plans.length} plans`
  if (plans[0] === 0 || total === 0) return 'no tests'
  if (results !== plans[0]) return `${results} results for a plan of ${plans[0]}`
  if (/^not ok(?!.*# (SKIP|TODO))/m.test(output)) return 'a test is `not ok`'
  if (fail > 0 || pass + skip + todo !== total) return `${fail} of ${total} assertions failed`
  if (/^\s*# ".*" has `only` set but all tests run$/m.test(output)) return 'a test is an `only`'
  return undefined
}
