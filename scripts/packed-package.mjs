// Projects in temporary folders outside of this one, which have the packed package as its users do.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const windows = process.platform === 'win32'

/** Returns the environment without the options of the npm that runs this script. */
export function toOuterEnv() {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(?!config_(registry|cache)$)/i.test(name),
    ),
  )
}

/** Runs a program to its end. Returns what it has written. */
export function run(command, options, cwd) {
  const stdio = ['ignore', 'pipe', 'inherit']
  return execFileSync(command, options, {
    cwd,
    env: toOuterEnv(),
    stdio,
    shell: windows,
    encoding: 'utf8',
  })
}

/** Runs npm to its end. Returns what it has written. */
export const npm = (options, cwd) => run(windows ? 'npm.cmd' : 'npm', options, cwd)

/** Packs the package, as it is built now, into a folder. Returns the path of the tarball. */
export function pack(folder) {
  // `dist` is built, and building it again would take it away from whoever uses it now.
  npm(['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], '.')
  return join(folder, `${manifest.name}-${manifest.version}.tgz`)
}

/** Makes a project with the packages in it. */
export function install(folder, content, packages, ...options) {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, ...content }))
  npm(['install', ...packages, '--prefix', folder, '--no-audit', '--no-fund', ...options], folder)
}

/** Resolves when `use` is through with a temporary folder, which is removed then. */
export async function withTemporaryFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), `${manifest.name}-consumer-`))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
