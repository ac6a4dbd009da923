// Runs the compiled tests on other versions of Node: on the lowest of each range in `engines` and on the
// newest 24, or on those named, with all files or those named after them:
//
//   node scripts/test-on-node.mjs [--loops 4] [--all] [22 20.19.4 …] [build/test/core/app.test.js …]
//
// Without names, each version gets a part of the files: every ninth for those of other majors than the Node
// that runs this, every eighteenth for one of the same major, which `npm test` has just run. Which part that
// is depends on the length of CHANGELOG.md: it is the same for each run of a commit, and another one after
// most changes. With `--all`, every version runs every file.
//
// Each version comes from the package `node` of the registry into a temporary folder. All run at the
// same time, and beside as many busy loops as are asked for. A test that fails here, and passes with its
// version alone, depends on how fast the machine is: `scripts/repeat-tests.mjs` finds out how often.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startBusyLoops } from './busy-loops.mjs'
import { findTestFiles, runTestFiles } from './test-files.mjs'

const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
const lowest = engines.node.match(/\d+\.\d+\.\d+/g)
const { values: options, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    loops: { type: 'string', default: '0' },
    all: { type: 'boolean', default: false },
  },
})
const namedFiles = named.filter((name) => name.endsWith('.js'))
const namedVersions = named.filter((name) => !name.endsWith('.js'))
const files = namedFiles.length > 0 ? namedFiles : findTestFiles()
const versions = namedVersions.length > 0 ? namedVersions : [...lowest, '24']
/** How many files each version runs at a time. */
const JOBS = 3
const windows = process.platform === 'win32'

/** Installs a version of Node into a folder that it makes. Returns the path of its executable. */
function install(version, parent) {
  const folder = join(parent, version)
  mkdirSync(folder)
  // The script of the package fetches the executable for this platform.
  writeFileSync(
    join(folder, 'package.json'),
    '{ "private": true, "allowScripts": { "node": true } }',
  )
  const options = ['--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', '--silent']
  execFileSync(windows ? 'npm.cmd' : 'npm', ['install', `node@${version}`, ...options], {
    cwd: folder,
    shell: windows,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return join(folder, 'node_modules/node/bin', windows ? 'node.exe' : 'node')
}

const isWhole = named.length > 0 || options.all
const majorOf = (version) => version.split('.')[0]
const others = versions.filter((version) => majorOf(version) !== majorOf(process.versions.node))

const { length: turn } = readFileSync('CHANGELOG.md')

/** Returns the files to run on one of `versions`. */
function filesFor(version) {
  if (isWhole) return files
  const place = others.indexOf(version)
  const [share, first] = place === -1 ? [18, others.length] : [9, place]
  return files.filter((_file, index) => (index + turn) % share === first)
}

/** Runs the tests, and prints how that went. Resolves to whether they passed. */
async function runTests(node, wanted) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)
  const started = Date.now()
  // What the tests start by name, npm for one, runs on the same version.
  const env = { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const chosen = filesFor(wanted)
  const { total, failures } = await runTestFiles({
    node,
    files: chosen,
    env,
    label: version,
    jobs: JOBS,
  })
  const passed = failures.length === 0 && total > 0
  const seconds = Math.round((Date.now() - started) / 1000)
  const extent = `${chosen.length} of ${files.length} files, ${total} assertions`
  console.log(`${passed ? 'ok' : 'not ok'} - Node ${version}: ${extent} in ${seconds} s`)
  for (const { file, fault, output } of failures) {
    console.log(`${file}: ${fault}\n${findFailures(output)}`)
  }
  return passed
}

/**
 * Returns every assertion that failed with what tap says of it, and what a test has waited for that
 * its time limit ended, else the end of the output.
 */
function findFailures(output) {
  const pattern = /^ *not ok .*(\n( *)---\n[\s\S]*?\n\2\.\.\.)?|^# ended by .*(\n +at .*)*/gm
  const found = output.match(pattern) ?? []
  return found.join('\n') || output.slice(-4000)
}

const folder = mkdtempSync(join(tmpdir(), 'remex-node-'))
try {
  const nodes = versions.map((version) => [install(version, folder), version])
  const endLoops = startBusyLoops(Number(options.loops))
  try {
    const results = await Promise.all(nodes.map((node) => runTests(...node)))
    if (results.includes(false)) process.exitCode = 1
  } finally {
    endLoops()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
