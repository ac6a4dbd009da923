import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { findCycles, readImports, resolvePath } from '../support/source-imports.ts'
import { createFolder, PROGRAM, readFiles, readManifest, runRemex } from './run-remex.ts'

const DATABASES = ['embedded', 'mongodb']
const ACCESS = [['--no-logins'], ['--logins'], ['--logins', '--oauth', 'github']]
const KINDS = DATABASES.flatMap((database) =>
  ACCESS.map((flags) => ['--database', database, ...flags]),
)
const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Where the compiler finds what `remex` exports, as it has been built. */
const PATHS = Object.fromEntries(
  Object.entries(readManifest().exports).flatMap(([path, entry]) =>
    typeof entry === 'string' ? [] : [[path.replace('.', 'remex'), [join(root, entry.types)]]],
  ),
)

for (const flags of KINDS) {
  t.test(`writes a project of at most nineteen files with ${flags.join(' ')}`, async (t) => {
    const folder = createFolder(t)
    const { status, stderr } = await runRemex(folder, 'new', 'shop', ...flags)
    t.strictSame([status, stderr], [0, ''])
    t.strictSame(readdirSync(folder), ['shop'], 'and nothing beside it')
    const files = readFiles(join(folder, 'shop'))
    t.ok(Object.keys(files).length <= 19, Object.keys(files).join())
    for (const [path, text] of Object.entries(files)) t.notMatch(text, 'my-app', path)
    t.equal('src/services/users.ts' in files, flags.includes('--logins'))
    t.equal(/AUTH_SECRET/.test(files['.env.example'] ?? ''), flags.includes('--logins'))
    t.equal(/GITHUB_KEY/.test(files['.env.example'] ?? ''), flags.includes('github'))
    t.equal(/embedded/.test(files['src/server.ts'] ?? ''), flags.includes('embedded'))
    t.match(files['package.json'], '"dev": "tsx watch src/server.ts --dev"')
    t.match(files['src/settings.ts'], "process.env.NODE_ENV ||= 'development'")
    for (const [path, text] of Object.entries(files)) {
      if (!path.endsWith('.ts')) continue
      t.equal(text.includes('process.env'), path === 'src/settings.ts', path)
      const code = text.replace(/\/\/.*|\/\*[\s\S]*?\*\//g, '')
      t.notMatch(code, / as (?:any|unknown|never|[A-Z])/, `${path} has no cast`)
    }
    for (const name of ['.env', 'node_modules', '.data']) {
      t.match(files['.dockerignore'], new RegExp(`^${name}$`, 'm'))
    }
    t.match(parse(files['.github/workflows/ci.yml'] ?? '').jobs.test.strategy.matrix.node, [22, 24])
    t.equal(/onlyOwn/.test(files['AGENTS.md'] ?? ''), flags.includes('--logins'))
    t.match(files['.gitignore'], /^\.data$[\s\S]*^\.env$/m)
    t.match(parse(files['compose.yaml'] ?? '').services.mongodb.command, ['--replSet', 'rs0'])
    const { name, dependencies } = readManifest(join(folder, 'shop'))
    t.equal(name, 'shop')
    // This copy has not been installed.
    t.equal(dependencies['remex'], `file:${root.replace(/\/$/, '')}`)
  })
}

t.test('no file of a project imports one that imports it, with a service added', async (t) => {
  for (const flags of ACCESS) {
    const folder = createFolder(t)
    await runRemex(folder, 'new', 'shop', ...flags)
    const project = join(folder, 'shop')
    await runRemex(project, 'service', 'notes')
    const files = Object.entries(readFiles(project)).filter(([path]) => path.endsWith('.ts'))
    const edges = files.flatMap(([from, text]) => {
      const augmented = [...text.matchAll(/declare module '([^']+)'/g)].map(([, name = '']) => name)
      return [...readImports(text), ...augmented]
        .flatMap((name) => resolvePath(from, name) ?? [])
        .map((to) => ({ from, to }))
    })
    t.ok(edges.some(({ to }) => to === 'src/api.ts'))
    t.strictSame(findCycles(edges), [], flags.join(' '))
  }
})

t.test('new projects have the versions that this package is tested with', async (t) => {
  const { engines, dependencies, devDependencies } = readManifest(join(root, 'templates/base'))
  const own = readManifest()
  t.strictSame(engines, own.engines)
  const {
    remex: _remex,
    tsx: _tsx,
    'pino-pretty': _pretty,
    ...others
  } = { ...dependencies, ...devDependencies }
  for (const [name, range] of Object.entries(others)) {
    t.equal(range, `^${own.devDependencies[name]}`, name)
  }
})

t.test('without a terminal it takes the defaults for what is not said', async (t) => {
  const [folder, said] = [createFolder(t), createFolder(t)]
  const { stdout } = await runRemex(folder, 'new')
  t.match(stdout, 'cd my-app')
  await runRemex(said, 'new', 'my-app', '--database', 'embedded', '--logins', '--oauth', 'none')
  t.strictSame(readFiles(folder), readFiles(said))
})

t.test('a login with GitHub is a login', async (t) => {
  const folder = createFolder(t)
  await runRemex(folder, 'new', 'shop', '--oauth', 'github', '--yes')
  t.ok(existsSync(join(folder, 'shop/src/services/users.ts')))
})

t.test('a scope belongs to the name of the package, and not to the folder', async (t) => {
  const folder = createFolder(t)
  await runRemex(folder, 'new', '@me/web.shop')
  t.equal(readManifest(join(folder, 'web.shop')).name, '@me/web.shop')
  t.match(readFiles(folder)['web.shop/src/server.ts'], "mongo.db('web-shop')")
})

/** What npm has noted about the installed package, and what a new project then installs. */
const SOURCES: readonly (readonly [noted: string | undefined, installs: RegExp])[] = [
  ['https://registry.example/remex/-/remex-9.9.9.tgz', /^\^\d+\.\d+\.\d+$/],
  ['https://host.example/builds/remex-9.9.9.tgz', /^https:\/\/host\.example\/builds/],
  ['git+ssh://git@host.example/remex.git#abc', /^git\+ssh:/],
  ['file:../packed/remex-9.9.9.tgz', /^file:\/.*\/packed\/remex-9\.9\.9\.tgz$/],
  [undefined, /^\^\d+\.\d+\.\d+$/],
]

t.test('a project installs remex from where this copy was installed from', async (t) => {
  const folder = createFolder(t)
  const installed = join(folder, 'host/node_modules/remex')
  mkdirSync(join(installed, 'dist'), { recursive: true })
  for (const part of ['dist/cli', 'dist/shared', 'templates', 'package.json']) {
    if (existsSync(join(root, part)))
      cpSync(join(root, part), join(installed, part), { recursive: true })
  }
  for (const [index, [resolved, installs]] of SOURCES.entries()) {
    const packages = { 'node_modules/remex': { resolved } }
    const lock = join(folder, 'host/node_modules/.package-lock.json')
    writeFileSync(lock, JSON.stringify(resolved === undefined ? {} : { packages }))
    const words = [join(installed, 'dist/cli/main.js'), 'new', `project-${index}`]
    execFileSync(process.execPath, words, { cwd: folder })
    const { remex } = readManifest(join(folder, `project-${index}`)).dependencies
    t.match(remex, installs)
  }
})

t.test('the files of projects pass their own lint and format, with services added', async (t) => {
  const folder = createFolder(t)
  for (const [index, flags] of KINDS.entries()) {
    const project = join(folder, `project-${index}`)
    await runRemex(folder, 'new', `project-${index}`, ...flags)
    for (const path of ['a', 'admin/audit-logs']) await runRemex(project, 'service', path)
    const { lint = '' } = readManifest(project).scripts
    const [, ...words] = lint.split(' ')
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
    const { NODE_OPTIONS: _, ...env } = process.env
    const { status, stdout, stderr } = spawnSync(process.execPath, [biome, ...words], {
      cwd: project,
      env,
      encoding: 'utf8',
    })
    t.equal(status, 0, `${flags.join(' ')}: ${stdout}${stderr}`)
  }
})

/** What is refused, and what the sentence about it says is allowed. */
const REFUSALS: readonly (readonly [words: string, sentence: RegExp])[] = [
  ['make', /Unknown command 'make'.*new, service and migrate/],
  ['new a b', /Unexpected argument 'b': new takes one name/],
  ['new --databse mongodb', /Unknown option '--databse'\. Options are --database --logins/],
  ['new --no-yes=1', /Options are/],
  ['new --database', /argument missing/],
  ['new --database postgres', /cannot be 'postgres': use embedded or mongodb/],
  ['new --oauth google', /cannot be 'google': use none or github/],
  ['new --no-logins --oauth github', /needs logins: remove --no-logins/],
  ['new Shop', /'Shop' is not a valid package name.*lower-case letters/],
  ['new .', /'\.' is not a valid package name/],
  ['new ../shop', /'\.\.\/shop' is not a valid package name/],
  ['new _shop', /'_shop' is not a valid package name/],
  [`new ${'a'.repeat(215)}`, /up to 214/],
  ['new @me/-shop', /is not a valid package name/],
  ...['http', 'node_modules', 'admin'].map(
    (name) => [`new ${name}`, /used by Node, npm or MongoDB/] as const,
  ),
  ['new full', /full is not empty/],
  ['new file', /file is not a folder/],
]

t.test('refuses in one sentence, and writes nothing', async (t) => {
  const folder = createFolder(t)
  mkdirSync(join(folder, 'full'))
  writeFileSync(join(folder, 'full/mine.txt'), 'mine')
  writeFileSync(join(folder, 'file'), 'mine')
  const before = readFiles(folder)
  for (const [words, sentence] of REFUSALS) {
    const { status, stdout, stderr } = await runRemex(folder, ...words.split(' '))
    t.strictSame([status, stdout], [1, ''], words)
    t.match(stderr, sentence)
    t.equal(stderr.trim().split('\n').length, 1, 'without a stack')
  }
  t.strictSame(readFiles(folder), before)
  t.strictSame(readdirSync(folder).sort(), ['file', 'full'])
})

t.test('takes an empty folder', async (t) => {
  const folder = createFolder(t)
  mkdirSync(join(folder, 'shop'))
  t.equal((await runRemex(folder, 'new', 'shop')).status, 0)
  t.ok(existsSync(join(folder, 'shop/package.json')))
})

t.test('says how it is used, and its version', async (t) => {
  const folder = createFolder(t)
  for (const words of [[], ['--help'], ['new', '--help']]) {
    t.match(await runRemex(folder, ...words), { status: 0, stdout: 'npx remex service <path>' })
  }
  t.equal((await runRemex(folder, '--version')).stdout.trim(), readManifest().version)
})

t.test('every variant of a file compiles strictly, with a service that was added', async (t) => {
  mkdirSync(join(root, 'build'), { recursive: true })
  // Inside of this package, whose packages they find there.
  const folder = mkdtempSync(join(root, 'build/new-projects-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [index, database] of ['embedded', 'mongodb', 'embedded'].entries()) {
    const name = `project-${index}`
    const flags = ['--database', database, ...(ACCESS[index] ?? [])]
    t.equal((await runRemex(folder, 'new', name, ...flags)).status, 0)
    const project = join(folder, name)
    t.equal((await runRemex(project, 'service', 'admin/audit-logs')).status, 0)
    const config = { extends: './tsconfig.json', compilerOptions: { noEmit: true, paths: PATHS } }
    writeFileSync(join(project, 'tsconfig.check.json'), JSON.stringify(config))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const output = await new Promise<string>((resolve) => {
      // The runner of the tests has every process load its hooks, with which the compiler does not start.
      const { NODE_OPTIONS: _, ...env } = process.env
      const words = [compiler, '-p', join(project, 'tsconfig.check.json')]
      execFile(process.execPath, words, { env }, (error, stdout) =>
        resolve(error === null ? '' : stdout || String(error)),
      )
    })
    t.equal(output, '', flags.join(' '))
  }
})

const skip = existsSync('/usr/bin/script') ? false : 'needs `script`, which makes a terminal'

/** Runs `remex` at a terminal. Resolves to its status and what stood there, when all is answered. */
async function answer(folder: string, words: string, answers: (readonly [string, string])[]) {
  // One without a width would be written to letter by letter.
  const command = `stty cols 80 rows 24; '${process.execPath}' '${PROGRAM}' ${words}`
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    const [question, keys = ''] = answers[0] ?? []
    if (question === undefined || !output.includes(question)) return
    answers.shift()
    child.stdin.write(keys)
  })
  const [status] = await once(child, 'close')
  return { status, output }
}

t.test('asks at a terminal for what is not said', { skip }, async (t) => {
  const folder = createFolder(t)
  const { status, output } = await answer(folder, 'new', [
    ['Name of the project', 'shop\r'],
    ['Database', '2\r'],
    ['Logins?', 'n\r'],
  ])
  t.equal(status, 0, output)
  t.notMatch(output, 'Logins with other providers')
  const files = readFiles(join(folder, 'shop'))
  t.notOk('src/services/users.ts' in files)
  t.notMatch(files['src/server.ts'], 'embedded')
})

t.test('asks again where an answer is not allowed, and says what is', { skip }, async (t) => {
  const folder = createFolder(t)
  const { status, output } = await answer(folder, 'new', [
    ['Name of the project', 'Shop\r'],
    ['use lower-case letters', '\r'],
    ['Database', 'sqlite\r'],
    ['Enter embedded or mongodb', 'mongodb\r'],
    ['Logins?', 'perhaps\r'],
    ['Enter yes or no', '\r'],
    ['Logins with other providers', '3\r'],
    ['Enter none or github', '2\r'],
  ])
  t.equal(status, 0, output)
  const files = readFiles(join(folder, 'my-app'))
  t.match(files['.env.example'], 'GITHUB_KEY')
  t.notMatch(files['src/server.ts'], 'embedded')
})

t.test('keeps answers that are pasted before their questions', { skip }, async (t) => {
  const folder = createFolder(t)
  const { status, output } = await answer(folder, 'new', [['Name of the project', 'shop\r1\rno\r']])
  t.equal(status, 0, output)
  t.notOk('src/services/users.ts' in readFiles(join(folder, 'shop')))
})

t.test('asks nothing at a terminal with --yes', { skip }, async (t) => {
  const folder = createFolder(t)
  t.match(await answer(folder, 'new --yes', []), { status: 0, output: 'cd my-app' })
})

t.test('writes nothing when the questions are broken off', { skip }, async (t) => {
  const folder = createFolder(t)
  for (const key of ['\u0003', '\u0004']) {
    const { status, output } = await answer(folder, 'new shop', [['Database', key]])
    t.equal(status, 1)
    t.match(output, '\nNothing has been written.')
    t.strictSame(readdirSync(folder), [])
  }
})
