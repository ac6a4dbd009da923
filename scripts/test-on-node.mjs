// Runs the compiled tests on other versions of Node: on the lowest of each range in `engines`, and on
// the newest 24, or on those named: `node scripts/test-on-node.mjs 22 20.19.4`. Each comes from the
// package `node` of the registry into a temporary folder. The results stay in `.tap/node-*.tap`.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
const lowest = engines.node.match(/\d+\.\d+\.\d+/g)
const wanted = process.argv.length > 2 ? process.argv.slice(2) : [...lowest, '24']
const windows = process.platform === 'win32'

/** Returns the path of an executable of Node below the folder. */
function install(version, folder) {
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

/** Runs the whole suite; returns whether it passed. */
function runTests(node) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)
  const results = `.tap/node-${version}.tap`
  const packageFile = require.resolve('tap/package.json')
  const cli = join(dirname(packageFile), require(packageFile).bin.tap)
  const started = Date.now()

  mkdirSync('.tap', { recursive: true })
  const output = openSync(results, 'w')
  // What the tests start by name, npm for one, runs on the same version.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const { status } = spawnSync(node, [cli], { env, stdio: ['ignore', output, output] })
  closeSync(output)

  const text = readFileSync(results, 'utf8')
  const summary = [...text.matchAll(/^# (\{[^}]*\})$/gm)].at(-1)?.[1] ?? 'no results'
  const passed = status === 0 && /\bpass: [1-9]/.test(summary)
  const seconds = Math.round((Date.now() - started) / 1000)
  console.log(`${passed ? 'ok' : 'not ok'} - Node ${version} ${summary} (${seconds} s, ${results})`)
  if (!passed) console.log(findFailures(text) || text.slice(-4000))
  return passed
}

/** Returns every assertion that failed, with what tap says of it. */
function findFailures(text) {
  return (text.match(/^ *not ok .*(\n( *)---\n[\s\S]*?\n\2\.\.\.)?/gm) ?? []).join('\n')
}

for (const version of wanted) {
  const folder = mkdtempSync(join(tmpdir(), 'remex-node-'))
  try {
    if (!runTests(install(version, folder))) process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
