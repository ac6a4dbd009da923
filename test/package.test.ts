import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

interface Manifest {
  name: string
  exports: Record<string, string | { types: string; default: string }>
  peerDependencies: Record<string, string>
  devDependencies: Record<string, string>
}

interface Packed {
  filename: string
  files: { path: string }[]
}

const run = promisify(execFile)
/** Windows starts the programs of npm by its shell. */
const shell = process.platform === 'win32'
const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest: Manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const entries = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string' ? [] : [{ specifier: path.replace(/^\./, manifest.name), target }],
)

// Outside the project, so that nothing resolves to its node_modules or to itself by name.
const folder = await realpath(await mkdtemp(join(tmpdir(), 'remex-package-')))
t.teardown(() => rm(folder, { recursive: true, force: true }))

await t.test('packs the compiled files, docs, examples and templates only', async (t) => {
  const { filename, files } = await pack()
  const paths = files.map(({ path }) => path)
  t.match(relative(root, folder), /^\.\./)
  t.strictSame(paths.filter((path) => !/^(dist|docs|examples|templates)\//.test(path)).sort(), [
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'package.json',
  ])
  t.strictSame(
    // The tests of projects are a part of these examples, and new projects begin with tests.
    paths
      .filter((path) => !/^(examples\/(blog|integrations)|templates\/\w+)\/test\//.test(path))
      .filter((path) => /\.test\.|(^|\/)(test|bench|node_modules)\//.test(path)),
    [],
  )
  for (const { target } of entries) {
    t.ok(paths.includes(target.default.slice(2)), target.default)
    t.ok(paths.includes(target.types.slice(2)), target.types)
  }
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const peers = Object.keys(manifest.peerDependencies)
  const others = [...peers, '@types/node']
  await install(filename, ...others.map((name) => `${name}@${manifest.devDependencies[name]}`))
})

await t.test('has no source maps, and no file that asks for one', async (t) => {
  const folderOfCode = join(folder, 'node_modules', manifest.name, 'dist')
  const files = await readdir(folderOfCode, { recursive: true })
  t.ok(files.some((file) => file.endsWith('.js')) && files.some((file) => file.endsWith('.d.ts')))
  for (const file of files.filter((one) => /\.(js|ts|map)$/.test(one))) {
    t.notMatch(file, /\.map$/)
    t.notMatch(await readFile(join(folderOfCode, file), 'utf8'), '//# sourceMappingURL=', file)
  }
})

await t.test('leads every link of its pages to a file and a heading that it packs', async (t) => {
  const installed = join(folder, 'node_modules', manifest.name)
  const files = (await readdir(installed, { recursive: true })).map(toSlashes)
  const pages = files.filter((file) => file.endsWith('.md'))
  t.ok(pages.includes('README.md') && pages.includes('docs/reference/rest.md'))
  for (const page of pages) {
    const text = await readFile(join(installed, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : posix.join(posix.dirname(page), path)
      t.ok(files.includes(posix.normalize(target).replace(/\/$/, '')), `${page}: ${link}`)
      if (anchor === undefined) continue
      t.ok((await readAnchors(join(installed, target))).includes(anchor), `${page}: ${link}`)
    }
  }
})

await t.test('makes a project with all of its files by npx', async (t) => {
  const { stdout } = await run('npx', ['remex', 'new', 'shop'], {
    cwd: folder,
    env: toEnv(),
    shell,
  })
  t.match(stdout, 'cd shop')
  const files = await readdir(join(folder, 'shop'))
  t.ok(
    ['.gitignore', '.env.example', 'package.json'].every((name) => files.includes(name)),
    'each',
  )
})

await t.test('is imported from JavaScript by every entry', async (t) => {
  const file = join(folder, 'consumer.js')
  await writeFile(
    file,
    `const names = {}
for (const specifier of ${JSON.stringify(entries.map(({ specifier }) => specifier))}) {
  names[specifier] = Object.keys(await import(specifier))
}
console.log(JSON.stringify(names))
`,
  )
  const { stdout } = await run(process.execPath, [file], { cwd: folder })
  const names: Record<string, string[]> = JSON.parse(stdout)
  for (const { specifier } of entries) {
    t.ok((names[specifier] ?? []).length > 0, `${specifier} exports something`)
  }
  t.ok(names[manifest.name]?.includes('default'), 'the plugin is the default export')
})

await t.test('names its classes as it exports them', async (t) => {
  const file = join(folder, 'classes.js')
  await writeFile(
    file,
    `const wrong = []
for (const specifier of ${JSON.stringify(entries.map(({ specifier }) => specifier))}) {
  const exported = await import(specifier)
  for (const [name, value] of Object.entries(exported)) {
    const isClass = typeof value === 'function' && /^class\\b/.test(String(value))
    // One of several names of a class is its own.
    if (isClass && exported[value.name] !== value) wrong.push([specifier, name, value.name])
  }
}
console.log(JSON.stringify(wrong))
`,
  )
  const { stdout } = await run(process.execPath, [file], { cwd: folder })
  t.strictSame(JSON.parse(stdout), [])
})

await t.test('loads a dependency only where it is used', async (t) => {
  const file = join(folder, 'loaded.js')
  await writeFile(
    file,
    `import { createRequire } from 'node:module'
await import('${manifest.name}')
console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)))
`,
  )
  const { stdout } = await run(process.execPath, [file], { cwd: folder })
  const loaded: string[] = JSON.parse(stdout)
  const isLoaded = (name: string): boolean =>
    loaded.some((path) => path.includes(join('node_modules', name, '/')))
  t.ok(isLoaded('fastify'))
  for (const name of ['cors', 'compress', 'static']) t.notOk(isLoaded(`@fastify/${name}`), name)
  for (const name of ['config', 'fast-jwt', 'mongodb']) t.notOk(isLoaded(name), name)
})

await t.test('answers without loading the whole of fetch', async (t) => {
  const file = join(folder, 'answer.js')
  await writeFile(
    file,
    `import { get } from 'node:http'
// Some versions of Node load fetch with http.
const before = new Set(process.moduleLoadList)
const { createApp, fastifyApp, rest } = await import('${manifest.name}')
const app = fastifyApp(createApp())
app.configure(rest())
app.use('records', { get: async (id) => ({ id }) })
const server = await app.listen({ port: 0, host: '127.0.0.1' })
for (const path of ['/records/1', '/no/such/path']) {
  await new Promise((resolve) => {
    const { port } = server.address()
    get({ port, path, agent: false }, (answer) => answer.resume().on('end', resolve))
  })
}
await app.close()
console.log(JSON.stringify(process.moduleLoadList.filter((name) => !before.has(name))))
`,
  )
  const { stdout } = await run(process.execPath, [file], { cwd: folder })
  const loaded: string[] = JSON.parse(stdout)
  t.ok(loaded.length > 0, 'modules of Node are listed')
  t.notOk(loaded.some((name) => /undici\/(undici|lib)/.test(name)))
})

await t.test('is refused by every path that is no entry', async (t) => {
  const file = join(folder, 'intruder.js')
  await writeFile(file, `await import('${manifest.name}/dist/core/index.js')`)
  await t.rejects(run(process.execPath, [file], { cwd: folder }), /ERR_PACKAGE_PATH_NOT_EXPORTED/)
})

await t.test('has types for strict TypeScript with NodeNext resolution', async (t) => {
  const imports = entries.map(({ specifier }, i) => `import * as entry${i} from '${specifier}'`)
  const checks = entries.map(
    (_, i) =>
      `export const found${i}: [keyof typeof entry${i}] extends [never] ? false : true = true`,
  )
  await writeFile(join(folder, 'consumer.ts'), [...imports, ...checks, ''].join('\n'))
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'es2023',
        module: 'nodenext',
        moduleResolution: 'nodenext',
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        types: ['node'],
        noEmit: true,
      },
      files: ['consumer.ts'],
    }),
  )
  t.equal(await compile(), '')
})

await t.test('has the declarations that its entries lead to, and no others', async (t) => {
  const files = await readdir(join(folder, 'node_modules', manifest.name), { recursive: true })
  const packed = files.filter((file) => file.endsWith('.d.ts')).map(toSlashes)
  const lines = (await compile('--listFilesOnly')).split(/\r?\n/)
  const read = lines.flatMap((line) => line.split(`/node_modules/${manifest.name}/`)[1] ?? [])
  t.strictSame(packed.sort(), read.sort())
})

/** Returns what `npm pack` says; `--ignore-scripts`, as other tests use the same `dist` now. */
async function pack(): Promise<Packed> {
  const { stdout } = await npm('pack', root, '--ignore-scripts', '--pack-destination', folder)
  const packed: Packed[] | Record<string, Packed> = JSON.parse(stdout)
  const [first] = Object.values(packed)
  if (first === undefined) throw new Error(`npm pack said: ${stdout}`)
  return first
}

/** Returns what links to the headings of a page end with. */
async function readAnchors(file: string): Promise<string[]> {
  const headings = (await readFile(file, 'utf8')).matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function toSlashes(path: string): string {
  return path.replaceAll('\\', '/')
}

async function install(...packages: string[]): Promise<void> {
  await npm('install', ...packages, '--prefer-offline', '--no-audit', '--no-fund', '--omit=dev')
}

function npm(...options: string[]): Promise<{ stdout: string }> {
  const name = shell ? 'npm.cmd' : 'npm'
  const words = [...options, '--json', '--prefix', folder]
  return run(name, words, { cwd: folder, env: toEnv(), shell })
}

/** Returns the environment without the options of the npm that runs these tests. */
function toEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(?!config_(registry|cache)$)/i.test(name),
    ),
  )
}

/** Returns what the compiler of this project says of the consumer, nothing when all is well. */
async function compile(...options: readonly string[]): Promise<string> {
  const require = createRequire(import.meta.url)
  const packageFile = require.resolve('typescript/package.json')
  const cli = join(packageFile, '..', require(packageFile).bin.tsc)
  try {
    const { stdout } = await run(process.execPath, [cli, '-p', folder, ...options])
    return stdout
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout ?? error)
  }
}
