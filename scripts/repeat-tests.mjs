// Runs the whole suite again and again: some runs with the machine to itself, some beside loops that
// keep every core busy. Prints a line for each run and a summary; stops at the first run that fails,
// and ends with status 1 then. The output of what failed stays in `.tap/repeat`.
//
//   node scripts/repeat-tests.mjs --quiet 5 --busy 5 --loops 4 [--keep-going] [--no-build] [files]
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startBusyLoops } from './busy-loops.mjs'
import { findFailedLines, findTestFiles, runTestFiles } from './test-files.mjs'

const RESULTS = '.tap/repeat'
const MAX_SHOWN = 20

const { values: options, positionals: named } = parseArgs({
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

const children = new Set()

process.once('exit', () => {
  for (const child of children) child.kill('SIGTERM')
})
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

const show = ({ total, failures }, title, seconds, resultFile) => {
  const outcome = failures.length === 0 ? 'passed' : `${failures.length} files FAILED`
  console.log(`${title}: ${outcome}, ${total} assertions in ${seconds} s`)
  if (failures.length === 0) return
  const lines = failures.flatMap(({ file, fault, output }) => [
    `${file}: ${fault}`,
    ...findFailedLines(output),
  ])
  for (const line of lines.slice(0, MAX_SHOWN)) console.log(`  ${line.trim()}`)
  writeFileSync(resultFile, failures.map(({ file, output }) => `# ${file}\n${output}`).join('\n'))
  console.log(`  all of it: ${resultFile}`)
}

const run = async (kind, index) => {
  const loops = kind === 'busy' ? counts.loops : 0
  const endLoops = startBusyLoops(loops)
  const resultFile = `${RESULTS}/${kind}-${index}.tap`
  const from = Date.now()
  try {
    const result = await runTestFiles({ files, children })
    const beside = loops > 0 ? ` beside ${loops} loops` : ''
    const title = `${kind} ${index} of ${counts[kind]}${beside}`
    show(result, title, Math.round((Date.now() - from) / 1000), resultFile)
    return result.failures.length === 0
  } finally {
    endLoops()
  }
}

if (!options['no-build']) build()
const files = named.length > 0 ? named : findTestFiles()
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
