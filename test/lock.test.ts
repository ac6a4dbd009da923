import { readFileSync } from 'node:fs'
import t from 'tap'

/** What stands in package-lock.json for the project (''), a workspace, or an installed copy of a package. */
interface Entry {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  /** Whether it is a link to a workspace. */
  readonly link?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly dependencies?: Names
  readonly devDependencies?: Names
  readonly optionalDependencies?: Names
  readonly peerDependencies?: Names
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

type Names = Readonly<Record<string, string>>
type Packages = Readonly<Record<string, Entry>>

const packages = readLock('package-lock.json')

for (const file of ['package-lock.json', 'scripts/site/package-lock.json']) {
  const locked = readLock(file)

  t.test(`${file} names every package that it needs, those of other platforms too`, async (t) => {
    t.strictSame(findMissing(locked), [], 'what `npm ci` refuses as "Missing: … from lock file"')
  })

  t.test(`${file} holds what each package is to be checked against, and no registry`, async (t) => {
    // The others are the project and its workspaces, and the links to these.
    const entries = Object.entries(locked).filter(([path, { link }]) => !isOwn(path) && !link)
    t.ok(entries.length > 0)
    t.strictSame(
      entries
        .filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
        .map(([path]) => path),
      [],
    )
    t.strictSame(
      entries.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path),
      [],
    )
  })
}

t.test('a default install has no more packages than the README says, nor many fewer', async (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const said = Number(/installs at most (\d+) packages/.exec(readme)?.[1])
  const names = [...Object.keys(packages['']?.dependencies ?? {}), 'fastify', 'mongodb']
  // Packages for development cause second copies of some, which no empty folder gets.
  const installed = [...findInstalled(names)].map(
    (path) => `${path.split('node_modules/').at(-1)}@${packages[path]?.version}`,
  )
  // The package itself is one.
  const count = 1 + new Set(installed).size
  t.ok(count <= said && count > said - 10, `${count} packages, ${said} in the README`)
})

/** Returns the paths of packages and of all that they need. */
function findInstalled(names: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (from: string, name: string): void => {
    const path = toFolders(from)
      .map((folder) => `${folder}${name}`)
      .find((one) => one in packages)
    if (path === undefined || found.has(path)) return
    found.add(path)
    for (const needed of findNames(path, packages[path] ?? {})) add(path, needed)
  }
  for (const name of names) add('', name)
  return found
}

for (const name of ['@biomejs/biome', 'rolldown', 'typescript']) {
  for (const os of ['darwin', 'win32', 'linux']) {
    for (const cpu of ['x64', 'arm64']) {
      t.test(`the lock has the binary of ${name} for ${os} on ${cpu}`, async (t) => {
        const binaries = Object.keys(packages[`node_modules/${name}`]?.optionalDependencies ?? {})
          .map((binary) => packages[`node_modules/${binary}`])
          .filter((entry) => entry?.os?.includes(os) && entry.cpu?.includes(cpu))
        // A binary that names no C library of Linux runs with all of them.
        const libraries = binaries.flatMap((entry) => entry?.libc ?? ['glibc', 'musl'])
        t.strictSame(libraries.sort(), ['glibc', 'musl'])
      })
    }
  }
}

t.test('a lock without the packages of another platform is found out', async (t) => {
  const root = { devDependencies: { tool: '1' } }
  const tool = { optionalDependencies: { 'tool-linux': '1', 'tool-darwin': '1' } }
  const missing = findMissing({
    '': root,
    'node_modules/tool': tool,
    'node_modules/tool-linux': {},
  })
  t.strictSame(missing, ['node_modules/tool needs tool-darwin'])
})

t.test('a dependency counts where Node would find it, and nowhere else', async (t) => {
  const root = { dependencies: { a: '1', '@scope/b': '1' } }
  const nested = { '': root, 'node_modules/a': { dependencies: { c: '1' } } }
  const inScope = {
    ...nested,
    'node_modules/@scope/b': { dependencies: { c: '1' } },
    'node_modules/@scope/b/node_modules/c': {},
  }
  t.strictSame(findMissing(inScope), ['node_modules/a needs c'])
  t.strictSame(findMissing({ ...inScope, 'node_modules/c': {} }), [])
})

function readLock(file: string): Packages {
  const url = new URL(`../../${file}`, import.meta.url)
  return (JSON.parse(readFileSync(url, 'utf8')) as { packages: Packages }).packages
}

/** Returns a line for every package that an entry names and Node would not find from there. */
function findMissing(packages: Packages): string[] {
  return Object.entries(packages).flatMap(([path, entry]) =>
    findNames(path, entry)
      .filter((name) => !toFolders(path).some((folder) => `${folder}${name}` in packages))
      .map((name) => `${path || 'the project'} needs ${name}`),
  )
}

/** Returns what an entry cannot do without, and what it can use on some platform. */
function findNames(path: string, entry: Entry): string[] {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = entry
  return [
    ...Object.keys(entry.dependencies ?? {}),
    ...Object.keys(entry.optionalDependencies ?? {}),
    ...Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional),
    ...(isOwn(path) ? Object.keys(entry.devDependencies ?? {}) : []),
  ]
}

/** Whether an entry is the project or a workspace of it, whose devDependencies are installed too. */
function isOwn(path: string): boolean {
  return !path.includes('node_modules/')
}

/** Returns the folders in which Node looks for what a package imports, the nearest first. */
function toFolders(path: string): string[] {
  const parts = path === '' ? [] : path.split(/\/(?=node_modules\/)/)
  return [...parts.keys(), parts.length]
    .reverse()
    .map((count) => [...parts.slice(0, count), 'node_modules/'].join('/'))
}
