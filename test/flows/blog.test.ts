import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const root = new URL('../../../', import.meta.url)
const source = new URL('examples/blog/', root)
const compiled = new URL('build/examples/blog/', root)

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, { readonly types: string }>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

function readJson<T>(path: string, base: URL): T {
  return JSON.parse(readFileSync(new URL(path, base), 'utf8'))
}

const testFiles = readdirSync(new URL('test/', compiled)).filter((file) =>
  file.endsWith('.test.js'),
)

t.test('the blog has tests', async (t) => t.ok(testFiles.length > 3))

for (const file of testFiles) {
  t.test(`the tests of the blog pass: ${file}`, async (t) => {
    const path = fileURLToPath(new URL(`test/${file}`, compiled))
    const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', path])
    const { stdout } = await run.catch((error: { stdout: string }) => error)
    const passed = /^# pass [1-9]/m.test(stdout) && /^# fail 0$/m.test(stdout)
    if (!passed) t.comment(stdout)
    t.ok(passed)
  })
}

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
