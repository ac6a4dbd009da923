// Runs compiled tests. Prints a line for each file, the tests that it skips, all that it prints when it fails,
// and the counts of all files.
//
//   node scripts/run-tests.mjs [options] [test/core/app.test.ts …]
//
//   (no options)     all files but those of test/long.ts: `npm test`
//   --long           those of test/long.ts alone: `npm run test:all`
//   --all            both
//   --runs 5         again and again, until a run fails
//   --loops 4        beside loops that keep the cores busy: what fails then alone depends on how fast the machine is
//   --node 22,24     on other versions of Node, all at the same time
//   --node engines   on those that `engines` ends at, with a part of all files each
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { installNode, partOf, supportedVersions } from './node-versions.mjs'
import { findTestFiles, runTestFiles, toCompiledFile } from './test-files.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    runs: { type: 'string', default: '1' },
    loops: { type: 'string', default: '0' },
    node: { type: 'string', default: '' },
  },
})
/** Ends by itself when the process that started it is gone, however that ended. */
const LOOP = `
const parent = process.ppid
const spin = () => {
  for (const end = Date.now() + 100; Date.now() < end; );
  if (process.ppid === parent) setImmediate(spin)
}
spin()`

async function findFiles() {
  const known = findTestFiles()
  const named = positionals.map(toCompiledFile)
  const { LONG } = await import(pathToFileURL('build/test/long.js'))
  const long = LONG.map((name) => toCompiledFile(`test/${name}.test.ts`))
  const unknown = [...named, ...long].filter((file) => !known.includes(file))
  if (unknown.length > 0) {
    console.error(`No test file ${unknown.join(', ')}: name files such as test/core/app.test.ts`)
    process.exit(1)
  }
  if (named.length > 0) return named
  const isWhole = options.all || options.node !== ''
  return known.filter((file) => isWhole || long.includes(file) === options.long)
}

/** Returns an output as lines that are none of the summary of the run. */
const indent = (output) => output.replace(/^/gm, '    ')

/** Runs files on one version of Node. Resolves to the counts of their assertions, with the files that failed. */
async function runOn({ version, ...setup }) {
  const sum = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0, failed: 0 }
  let index = 0
  await runTestFiles({
    ...setup,
    onFile({ file, output, counts, fault, seconds }) {
      index += 1
      for (const [name, count] of Object.entries(counts)) sum[name] += count
      const place = `${file}${version ? ` on ${version}` : ''}`
      const what = `${index} - ${place} # ${counts.total} assertions, ${seconds.toFixed(1)} s`
      console.log(fault === undefined ? `ok ${what}` : `not ok ${what}: ${fault}`)
      const skipped = version ? [] : (output.match(/^ *ok .* # (SKIP|TODO).*/gim) ?? [])
      for (const text of fault === undefined ? skipped : [output]) console.log(indent(text))
      if (fault === undefined) return
      sum.failed += 1
      // A file that ends too early fails even if none of its assertions has.
      if (counts.fail > 0) return
      sum.fail += 1
      sum.total += 1
    },
  })
  const counted = Object.entries(sum).filter(([, count]) => count > 0)
  const title = version ? ` Node ${version}:` : ''
  console.log(`1..${index}\n#${title} { ${counted.map((pair) => pair.join(': ')).join(', ')} }`)
  return sum
}

/** Returns what to run for each version of Node that is asked for. */
function toSetups(files, folder) {
  if (options.node === '') return [{ files }]
  const isPart = options.node === 'engines'
  const versions = isPart ? supportedVersions() : options.node.split(',')
  return versions.map((version) => {
    const node = installNode(version, folder)
    return {
      ...{ version, label: version, node, jobs: 3 },
      // What the tests start by name, npm for one, runs on the same version.
      env: { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
      files: isPart && positionals.length === 0 ? partOf(files, version, versions) : files,
    }
  })
}

const files = await findFiles()
const results = join('.tap/results', `${options.long ? 'long' : 'short'}.json`)
const isCounted = options.node === '' && positionals.length === 0
// A run that breaks off leaves no counts.
if (isCounted) rmSync(results, { force: true })
const folder = mkdtempSync(join(tmpdir(), 'remex-node-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const setups = toSetups(files, folder)
const loops = Array.from({ length: Number(options.loops) }, () =>
  spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
)
for (let run = 1; run <= Number(options.runs); run += 1) {
  if (options.runs !== '1') console.log(`# run ${run} of ${options.runs}`)
  const sums = await Promise.all(setups.map(runOn))
  if (isCounted) {
    mkdirSync(dirname(results), { recursive: true })
    writeFileSync(results, JSON.stringify(sums[0]))
  }
  if (sums.every(({ failed, total }) => failed === 0 && total > 0)) continue
  process.exitCode = 1
  break
}
for (const loop of loops) loop.kill()
