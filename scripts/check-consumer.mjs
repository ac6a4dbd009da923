// Uses the packed package as its users do, in temporary folders outside the project: beside the
// newest `fastify` and `mongodb`, and beside the lowest that the peer ranges allow, installed with
// `--engine-strict` and the overrides of the README. Each time there is one copy of what users hold
// instances of, the examples compile in strict TypeScript, libraries checked, and some are run; once
// those that end by themselves, by the commands that they name. Without the optional peers, the types
// compile, and what needs one says so at the start. The examples with a package.json of their own
// are copied, installed and tested, and the blog is started. Last, every entry is imported where
// packages see no more than they declare.
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkExamples, checkProgram } from './check-program.mjs'
import { install, manifest, pack, run, withTemporaryFolder } from './outside.mjs'

const compiler = resolve('node_modules/typescript/bin/tsc')
const readme = readFileSync('README.md', 'utf8')
/** What the README tells users of Node 20 to write into their package.json. */
const { overrides } = JSON.parse(`{${/```json\n("overrides"[\s\S]*?)```/.exec(readme)?.[1]}}`)
const peers = Object.entries(manifest.peerDependencies)
const examples = readdirSync('examples', { recursive: true })
  .filter((file) => file.endsWith('.ts') && !/^(?:blog|integrations)\b/.test(file))
  .map((file) => readFileSync(join('examples', file), 'utf8'))
const nodeTypes = `@types/node@${manifest.devDependencies['@types/node']}`
/** What the examples import besides the package and its peers, with its types, and those of Node. */
const others = Object.entries(manifest.devDependencies)
  .filter(([name]) => examples.some((text) => text.includes(`'${name.replace(/^@types\//, '')}'`)))
  .filter(([name]) => !(name in manifest.peerDependencies))
  .map(([name, version]) => `${name}@${version}`)
  // The types of @fastify/middie import the first without depending on it; those of oidc-provider's Koa find
  // the second where no newer one, such as that of @fastify/static, is in its place.
  .concat(nodeTypes, '@types/connect@3', 'content-disposition@1')
const lowest = peers.map(([name, range]) => `${name}@${/\d+\.\d+\.\d+/.exec(range)[0]}`)
const newest = peers.map(([name]) => `${name}@latest`)
const entries = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => path.replace(/^\./, manifest.name))

/** What is in the package.json of each project. */
const MODULES = { type: 'module' }

const OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  rewriteRelativeImportExtensions: true,
  skipLibCheck: false,
  types: ['node'],
  rootDir: '.',
  outDir: 'build',
}

function compile(folder, ...include) {
  const config = { compilerOptions: OPTIONS, include }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  run(process.execPath, [compiler, '-p', folder], folder)
  console.log(`ok - ${include} compile`)
}

/** Throws when a package is installed twice: instances of one copy are no instances of the other. */
function checkCopies(folder, names) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  for (const name of names) {
    const copies = Object.keys(lock.packages).filter((path) =>
      path.endsWith(`node_modules/${name}`),
    )
    if (copies.length !== 1) throw new Error(`${copies.length} copies of ${name}: ${copies}`)
    console.log(`ok - one copy of ${name}, ${lock.packages[copies[0]].version}`)
  }
}

/** Compiles the examples that the package brings, and runs those named. */
async function checkShippedExamples(folder, ...names) {
  const shipped = join(folder, 'node_modules', manifest.name, 'examples')
  cpSync(shipped, join(folder, 'examples'), { recursive: true })
  compile(folder, 'examples/*.ts')
  await checkExamples(folder, 'build/examples', names)
}

/** Runs those examples that end by themselves by the command that they name. */
function checkCommands(folder) {
  for (const example of examples.filter((text) => text.includes('Ends by itself'))) {
    const [command, ...options] = /npx tsx [\w./-]+/.exec(example)[0].split(' ')
    run(command, options, folder)
    console.log(`ok - ${options.at(-1)}`)
  }
}

/** What throws at the start without its package, and the command that the error names. */
const FEATURES = {
  "openapi({ info: { title: 'T', version: '1' } })":
    'npm install @fastify/swagger @fastify/swagger-ui yaml',
  'compress()': 'npm install @fastify/compress',
  "serveStatic({ root: '/tmp' })": 'npm install @fastify/static',
  'configuration()': 'npm install config',
}
/** Entries that are for the users of an optional package. */
const FOR_OTHERS = /\/(?:files\/s3|opentelemetry|prometheus|socketio|react|vue)$/

/** Throws when more is installed than the README says: packages, or megabytes of files. */
function checkSize(folder) {
  const [, packages, megabytes] = /installs at most (\d+) packages \((\d+) MB\)/.exec(readme)
  const modules = join(folder, 'node_modules')
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'))
  const count = Object.keys(lock.packages).length
  const bytes = readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  const size = `${count} packages with ${(bytes / 1e6).toFixed(1)} MB`
  if (count > packages || bytes > megabytes * 1e6) throw new Error(`${size}: see the README`)
  console.log(`ok - ${size}`)
}

/** Uses the package where none of the optional ones is: types compile, and errors name the command. */
function checkWithoutOptional(folder) {
  const lines = entries
    .filter((entry) => !FOR_OTHERS.test(entry))
    .map((entry, index) => `export * as entry${index} from '${entry}'`)
  writeFileSync(join(folder, 'entries.ts'), lines.join('\n'))
  compile(folder, 'entries.ts')
  for (const [feature, command] of Object.entries(FEATURES)) {
    const program = `import * as remex from 'remex'
const { createApp, fastifyApp, rest, ${feature.replace(/\(.*/, '')} } = remex
const start = async () => fastifyApp(createApp()).configure(rest()).configure(${feature}).listen(0)
await start().then(() => console.log('started'), ({ message }) => console.log(message))
process.exit()`
    writeFileSync(join(folder, 'feature.js'), program)
    const printed = run(process.execPath, ['feature.js'], folder).trim()
    if (!printed.endsWith(`: ${command}`)) throw new Error(`${feature} says: ${printed}`)
    console.log(`ok - ${printed}`)
  }
}

/** Does with a copy of a project among the examples that the package brings what its README says. */
function checkProject(name, source, folder, tarball) {
  const shipped = join(source, 'node_modules', manifest.name, 'examples', name)
  cpSync(shipped, folder, { recursive: true })
  // The release that it asks for is not in the registry yet.
  run('npm', ['install', tarball, '--no-audit', '--no-fund'], folder)
  run('npm', ['test'], folder)
  console.log(`ok - examples/${name} is tested`)
}

await withTemporaryFolder(async (folder) => {
  const tarball = pack(folder)
  const create = (name, content, ...words) => {
    console.log(`\n${name}: ${words.join(' ')}`)
    install(join(folder, name), { ...MODULES, ...content }, words)
    return join(folder, name)
  }

  const newer = create('newest', {}, tarball, ...newest, ...others, 'tsx')
  checkCopies(newer, ['fastify', 'mongodb', 'bson'])
  await checkShippedExamples(newer, 'plugin.ts', 'countries.ts', 'accounts.ts')
  checkCommands(newer)
  const blog = join(folder, 'blog')
  checkProject('blog', newer, blog, tarball)
  await checkProgram(blog, 'node build/server.js')
  checkProject('integrations', newer, join(folder, 'integrations'), tarball)

  const bare = create('bare', {}, tarball, 'fastify@latest', 'mongodb@latest')
  checkSize(bare)
  run('npm', ['install', nodeTypes, '--no-audit'], bare)
  checkWithoutOptional(bare)

  const older = create('lowest', { overrides }, tarball, ...lowest, ...others, '--engine-strict')
  checkCopies(older, ['fastify', 'mongodb'])
  await checkShippedExamples(older, 'countries.ts', 'accounts.ts')

  const optional = ['@opentelemetry/api', 'prom-client']
  const strategy = '--install-strategy=linked'
  const linked = create('linked', {}, tarball, ...newest, ...optional, strategy)
  writeFileSync(join(linked, 'entries.js'), entries.map((entry) => `import '${entry}'`).join('\n'))
  run(process.execPath, ['entries.js'], linked)
  console.log(`ok - ${entries.join(', ')}`)
})
