import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import t from 'tap'

interface Manifest {
  readonly engines: { readonly node: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** The first versions without a fault that was published for an earlier one, for each major. */
const LEAST_VERSIONS: Readonly<Record<string, readonly string[]>> = {
  '@fastify/static': ['10.1.3'],
  'fast-jwt': ['6.3.6'],
  'fast-uri': ['3.1.7', '4.1.4'],
  fastify: ['5.12.8'],
  'find-my-way': ['9.10.0'],
  qs: ['6.15.3'],
}

const root = new URL('../../', import.meta.url)
const { packages } = readJson<{ packages: Record<string, { version: string }> }>(
  'package-lock.json',
)
const manifest = readJson<Manifest>('package.json')
const ranges = { ...manifest.dependencies, ...manifest.peerDependencies }

t.test('no copy of a dependency is older than the faults that are known (FST-19)', async (t) => {
  for (const [name, least] of Object.entries(LEAST_VERSIONS)) {
    const copies = Object.entries(packages).filter(([path]) =>
      path.endsWith(`node_modules/${name}`),
    )
    t.ok(copies.length > 0, name)
    for (const [path, { version }] of copies) {
      t.ok(isAtLeast(version, least), `${path} ${version}, at least ${least.join(' or ')}`)
    }
  }
})

t.test('no range of a dependency begins before the faults that are known (FST-19)', async (t) => {
  for (const [name, range] of Object.entries(ranges)) {
    const least = LEAST_VERSIONS[name]
    for (const lowest of readLowest(range)) {
      if (least !== undefined) t.ok(isAtLeast(lowest, least), `${name} ${range}`)
    }
  }
})

t.test('Node is one that the package asks for (FST-19)', async (t) => {
  const { node } = process.versions
  t.ok(isAtLeast(node, readLowest(manifest.engines.node)), `${node}: ${manifest.engines.node}`)
})

t.test('README and CONTRIBUTING name the versions of Node that the package asks for', async (t) => {
  const versions = readLowest(manifest.engines.node).map((version) => version.replace(/\.0$/, ''))
  const sentence = `Node ${versions.join(', ')} or newer`
  for (const file of ['README.md', 'CONTRIBUTING.md']) {
    const text = readFileSync(new URL(file, root), 'utf8')
    t.ok(text.includes(sentence), `${file}: ${sentence}`)
  }
})

t.test('users get what was tested or a compatible successor, contributors the same', async (t) => {
  for (const [name, range] of Object.entries(ranges)) {
    const version = packages[`node_modules/${name}`]?.version ?? ''
    const lowest = readLowest(range)
    t.ok(isAtLeast(version, lowest), `${name} ${version} is in ${range}`)
    t.match(range, /^[\^~]\d+\.\d+\.\d+( \|\| \^\d+\.\d+\.\d+)*$/, `${name} ${range} is a range`)
  }
  for (const [name, version] of Object.entries(manifest.devDependencies)) {
    t.equal(version, packages[`node_modules/${name}`]?.version, `${name} is pinned`)
  }
})

t.test('every package that the sources import is declared', async (t) => {
  const folder = new URL('src/', root)
  const sources = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(new URL(file.replaceAll('\\', '/'), folder), 'utf8'))
  const specifiers = sources.flatMap((source) =>
    [...source.matchAll(/(?:\bfrom |\bimport ?\(?|\brequire\()'([^'.][^']*)'/g)].map(
      (match) => match[1] ?? '',
    ),
  )
  const imported = new Set(specifiers.filter((one) => !isBuiltin(one)).map(toPackage))
  t.ok(imported.has('fastify'))
  t.strictSame(
    [...imported].filter((name) => !(name in ranges)),
    [],
  )
})

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, root), 'utf8'))
}

/** Returns the package of an import: `@scope/name` of `@scope/name/file.js`. */
function toPackage(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Returns the lowest version of each alternative: `['6.22.0', '7.0.0']` of `^6.22.0 || ^7.0.0`. */
function readLowest(range: string): string[] {
  return range.match(/\d+\.\d+\.\d+/g) ?? []
}

/** Whether a version is no older than the entry for its major; a newer major than all is newer. */
function isAtLeast(version: string, least: readonly string[]): boolean {
  const major = Number.parseInt(version, 10)
  const highest = Math.max(...least.map((one) => Number.parseInt(one, 10)))
  const floor = least.find((one) => Number.parseInt(one, 10) === Math.min(major, highest))
  return floor !== undefined && version.localeCompare(floor, 'en', { numeric: true }) >= 0
}
