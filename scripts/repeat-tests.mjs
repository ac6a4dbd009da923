// Runs the whole suite again and again: some runs with the machine to itself, some beside loops that
// keep every core busy. Prints a line for each run and a summary; stops at the first run that fails,
// and ends with status 1 then. The output of each run stays in `.tap/repeat`.
//
//   node scripts/repeat-tests.mjs --quiet 5 --busy 5 --loops 4 [--keep-going] [--no-build] [files]
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

const RESULTS = '.tap/repeat'
const MAX_SHOWN = 20

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    /** How many runs without anything beside them. */
    quiet: { type: 'string', default: '5' },
    /** How many runs beside busy loops. */
    busy: { type: 'string', default: '5' },
    /** How many loops; twice the cores make every test wait for its turn. */
    loops: { type: 'string', default: '4' },
    /** Goes on after a run that fails. */
    'keep-going': { type: 'boolean', default: false },
    /** Runs what has been compiled before. */
    'no-build': { type: 'boolean', default: false },
  },
})

const toCount = (name) => {
  const count = Number(options[name])
  if (Number.isInteger(count) && count >= 0) return count
  console.error(`--${name} must be a whole number from 0 on, not '${options[name]}'`)
  process.exit(1)
}
const counts = { quiet: toCount('quiet'), busy: toCount('busy'), loops: toCount('loops') }

/** Ends by itself when this process is gone, however that ended. */
const LOOP = `
const parent = process.ppid
const spin = () => {
  for (const end = Date.now() + 100; Date.now() < end; );
  if (process.ppid === parent) setImmediate(spin)
}
spin()`

const children = new Set()

const start = (args, stdio) => {
  const child = spawn(process.execPath, args, { stdio })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** By the signal that tap passes on to the tests it runs. */
const end = (child) => child.kill('SIGTERM')

process.once('exit', () => children.forEach(end))
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
]) {
  process.once(signal, () => process.exit(128 + number))
}

const build = () => {
  const npm = spawnSync('npm', ['run', '--silent', 'build:test'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) process.exit(1)
}

const prepare = () => {
  const { status } = spawnSync(process.execPath, ['scripts/prepare-tap.mjs'], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

const require = createRequire(import.meta.url)
const packageFile = require.resolve('tap/package.json')
const tap = join(dirname(packageFile), require(packageFile).bin.tap)

/** Resolves to the exit code of tap and what it has written. */
const runTap = (resultFile) =>
  new Promise((resolve) => {
    const child = start([tap, '--reporter=tap', ...files], ['ignore', 'pipe', 'pipe'])
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (one) => chunks.push(one))
    child.once('close', (code) => {
      const output = Buffer.concat(chunks)
      writeFileSync(resultFile, output)
      resolve({ code, output: output.toString() })
    })
  })

const show = ({ code, output }, title, seconds, resultFile) => {
  const [, total = '?'] = /^# \{ total: (\d+)/m.exec(output) ?? []
  const outcome = code === 0 ? 'passed' : `FAILED with status ${code}`
  console.log(`${title}: ${outcome}, ${total} assertions in ${seconds} s`)
  if (code === 0) return
  const failures = output.split('\n').filter((line) => /^\s*not ok/.test(line))
  for (const line of failures.slice(0, MAX_SHOWN)) console.log(`  ${line.trim()}`)
  console.log(`  all of it: ${resultFile}`)
}

const run = async (kind, index) => {
  const loops = kind === 'busy' ? counts.loops : 0
  const busy = Array.from({ length: loops }, () => start(['-e', LOOP], 'ignore'))
  const resultFile = `${RESULTS}/${kind}-${index}.tap`
  const from = Date.now()
  try {
    const result = await runTap(resultFile)
    const beside = loops > 0 ? ` beside ${loops} loops` : ''
    const title = `${kind} ${index} of ${counts[kind]}${beside}`
    show(result, title, Math.round((Date.now() - from) / 1000), resultFile)
    return result.code === 0
  } finally {
    busy.forEach(end)
  }
}

if (!options['no-build']) build()
prepare()
rmSync(RESULTS, { recursive: true, force: true })
mkdirSync(RESULTS, { recursive: true })

const passed = { quiet: 0, busy: 0 }
let failed = 0
for (const kind of ['quiet', 'busy']) {
  for (let index = 1; index <= counts[kind]; index += 1) {
    if (failed > 0 && !options['keep-going']) break
    if (await run(kind, index)) passed[kind] += 1
    else failed += 1
  }
}
const summary = Object.entries(passed).map(([kind, count]) => `${count} of ${counts[kind]} ${kind}`)
console.log(`${summary.join(' and ')} runs passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
