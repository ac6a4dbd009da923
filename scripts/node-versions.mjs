// Other versions of Node, from the package `node` of the registry.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const windows = process.platform === 'win32'
const majorOf = (version) => version.split('.')[0]

/** Returns the lowest version of each range in `engines`, plus 24 and 26. */
export function supportedVersions() {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
  return [...engines.node.match(/\d+\.\d+\.\d+/g), '24', '26']
}

/** Installs a version into a folder that it makes. Returns the path of its executable. */
export function installNode(version, parent) {
  const folder = join(parent, version)
  mkdirSync(folder)
  // The script of the package fetches the executable for this platform.
  const manifest = '{ "private": true, "allowScripts": { "node": true } }'
  writeFileSync(join(folder, 'package.json'), manifest)
  const options = ['--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', '--silent']
  execFileSync(windows ? 'npm.cmd' : 'npm', ['install', `node@${version}`, ...options], {
    cwd: folder,
    shell: windows,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return join(folder, 'node_modules/node/bin', windows ? 'node.exe' : 'node')
}

/**
 * Returns the part of the files that one of several versions runs: every ninth for those of other majors than
 * the Node that runs this, every eighteenth for one of the same major, which has just run all. Which part that
 * is depends on the length of CHANGELOG.md: it is the same for each run of a commit, and another one after most
 * changes.
 */
export function partOf(files, version, versions) {
  const others = versions.filter((one) => majorOf(one) !== majorOf(process.versions.node))
  const { length: turn } = readFileSync('CHANGELOG.md')
  const place = others.indexOf(version)
  const [share, first] = place === -1 ? [18, others.length] : [9, place]
  return files.filter((_file, index) => (index + turn) % share === first)
}
