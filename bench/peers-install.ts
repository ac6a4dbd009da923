import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// The packages of the peers are none of the project's: its manifest, lock and archive don't name them.
// They are installed once, where `npm ci` of the project clears them away, and their servers are
// copied beside them, since a module finds packages from where it lies.

const SOURCE = new URL('../../bench/peers/', import.meta.url)
const PROJECT = new URL('../../', import.meta.url)

/** Where the servers of peers are run. */
export const PEERS_FOLDER = new URL('node_modules/.cache/remex-peers/', PROJECT)

/** What plain Fastify and Remex are measured with. */
const OWN_PACKAGES = ['fastify', 'fast-jwt', 'picoquery']
/** What Feathers brings along. */
const BROUGHT_PACKAGES = ['express', 'koa']

/** Where no registry answers, npm is to say so soon: by default it tries for minutes. */
const OPTIONS = [
  ...['--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
  ...['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=2000'],
]
const INSTALL_LIMIT_MS = 300_000

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

/**
 * Installs the peers unless the very same ones are there, and copies their servers.
 * @throws {Error} npm could not install them
 */
export function installPeers(): void {
  const manifest = readFileSync(new URL('package.json', SOURCE), 'utf8')
  const installed = new URL('node_modules/package.json', PEERS_FOLDER)
  if (!existsSync(installed) || readFileSync(installed, 'utf8') !== manifest) {
    install()
    // Last, so that an installation that was broken off counts for none.
    copyFileSync(new URL('package.json', SOURCE), installed)
  }
  for (const file of readdirSync(SOURCE).filter((name) => name.endsWith('.mjs'))) {
    copyFileSync(new URL(file, SOURCE), new URL(file, PEERS_FOLDER))
  }
}

/** Returns the names of all that is compared, with versions: `fastify 5.12.8`. */
export function readVersions(): string[] {
  const { dependencies } = readManifest(new URL('package.json', SOURCE))
  return [
    `Node ${process.versions.node}`,
    ...OWN_PACKAGES.map((name) => toVersion(name, PROJECT)),
    ...[...Object.keys(dependencies), ...BROUGHT_PACKAGES].map((name) =>
      toVersion(name, PEERS_FOLDER),
    ),
  ]
}

function toVersion(name: string, folder: URL): string {
  return `${name} ${readManifest(new URL(`node_modules/${name}/package.json`, folder)).version}`
}

function readManifest(file: URL): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest
}

function install(): void {
  const cwd = fileURLToPath(PEERS_FOLDER)
  console.log(`Installing the peers of bench/peers/package.json, once, into ${cwd}`)
  rmSync(cwd, { recursive: true, force: true })
  mkdirSync(cwd, { recursive: true })
  copyFileSync(new URL('package.json', SOURCE), new URL('package.json', PEERS_FOLDER))
  const { status, error } = spawnSync('npm', ['install', '--prefix', cwd, ...OPTIONS], {
    cwd,
    env: toCleanEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
    timeout: INSTALL_LIMIT_MS,
  })
  if (status === 0) return
  rmSync(cwd, { recursive: true, force: true })
  const reason = error?.message ?? `npm ended with ${status}, as it says above`
  throw new Error(
    `The peers could not be installed: ${reason}. This benchmark needs a registry once.`,
  )
}

/** Without the options of the npm that runs this benchmark, but for where packages come from. */
function toCleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(?!config_(registry|cache)$)/i.test(name),
    ),
  )
}
