import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const root = new URL('../../../', import.meta.url)
const source = new URL('examples/blog/', root)
const compiled = new URL('build/examples/blog/', root)

/** `one` and `two` in [a file](file). */
const PLACE = /((?:`\w+`(?: and )?)+) in \[[^\]]+\]\(([\w./-]+)\)/g

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, { readonly types: string }>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

function readJson<T>(path: string, base: URL): T {
  return JSON.parse(readFileSync(new URL(path, base), 'utf8'))
}

t.test('the tests of the blog pass', async (t) => {
  const folder = new URL('test/', compiled)
  const files = readdirSync(folder).filter((file) => file.endsWith('.test.js'))
  t.ok(files.length > 3, files.join())
  const paths = files.map((file) => fileURLToPath(new URL(file, folder)))
  // All in one run, side by side, as `npm test` of the blog has them.
  const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', ...paths])
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  const passed = /^# pass [1-9]/m.test(stdout) && /^# fail 0$/m.test(stdout)
  const failures = stdout.match(/^ *not ok [\s\S]*?\n *\.\.\.$/gm) ?? []
  t.ok(passed, failures.join('\n'))
})

t.test('what its README points to is there', async (t) => {
  const rows = readFileSync(new URL('README.md', source), 'utf8').split('\n')
  const files = rows.flatMap((row) => [...row.matchAll(/\]\(([\w./-]+)\)/g)])
  for (const [, file = ''] of files) t.ok(existsSync(new URL(file, source)), file)
  const places = rows.flatMap((row) => [...row.matchAll(PLACE)])
  t.ok(places.length > 15)
  for (const [, names = '', file = ''] of places) {
    const text = readFileSync(new URL(file, source), 'utf8')
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
      t.match(text, name, `${name} in ${file}`)
  }
})

t.test('its README keeps what is made there out of git', async (t) => {
  const text = readFileSync(new URL('README.md', source), 'utf8')
  const [, lines = ''] = /^printf '(.*)' > \.gitignore$/m.exec(text) ?? []
  const { compilerOptions } = readJson<{ compilerOptions: { outDir: string } }>(
    'tsconfig.json',
    source,
  )
  const made = ['node_modules', compilerOptions.outDir, 'images']
  t.strictSame(lines.split('\\n'), [...made, ''])
})

t.test('the blog asks for the versions that it is tested with', async (t) => {
  const project = readJson<Manifest>('package.json', root)
  const blog = readJson<Manifest>('package.json', source)
  const versions: Readonly<Record<string, string>> = {
    ...project.devDependencies,
    remex: project.version,
  }
  for (const [name, range] of Object.entries({ ...blog.dependencies, ...blog.devDependencies })) {
    t.equal(range, `^${versions[name]}`, name)
  }
})

t.test('the blog is compiled with the types that users get', async (t) => {
  const { exports } = readJson<Manifest>('package.json', root)
  const config = readJson<{ compilerOptions: { paths: Readonly<Record<string, string[]>> } }>(
    'tsconfig.blog.json',
    root,
  )
  for (const [specifier, paths] of Object.entries(config.compilerOptions.paths)) {
    t.strictSame(paths, [exports[specifier.replace(/^remex/, '.')]?.types], specifier)
  }
})
