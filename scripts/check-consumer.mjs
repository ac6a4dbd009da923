// Uses the packed package as its users do, in temporary folders outside the project: beside the
// newest `fastify` and `mongodb`, and beside the lowest that the peer ranges allow, installed with
// `--engine-strict` and the overrides of the README. Each time there is one copy of what users hold
// instances of, the examples compile in strict TypeScript, libraries checked, and some are run; once
// those that end by themselves, by the commands that they name. Without the optional peers, the types
// compile, and what needs one says so at the start. The blog, an example with a
// package.json of its own, is copied, installed, tested and started. Last, every entry is imported
// where packages see no more than they declare.
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { install, manifest, npm, pack, run, withTemporaryFolder } from './packed-package.mjs'

const compiler = resolve('node_modules/typescript/bin/tsc')
const checkExamples = resolve('scripts/check-examples.mjs')
const readme = readFileSync('README.md', 'utf8')
/** What the README tells users of Node 20 to write into their package.json. */
const { overrides } = JSON.parse(`{${/```json\n("overrides"[\s\S]*?)```/.exec(readme)?.[1]}}`)
const peers = Object.entries(manifest.peerDependencies)
const examples = readdirSync('examples', { recursive: true })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('blog'))
  .map((file) => readFileSync(join('examples', file), 'utf8'))
/** What the examples import besides the package and its peers, with its types, and those of Node. */
const others = Object.entries(manifest.devDependencies)
  .map(([name, version]) => [name, version, name.replace(/^@types\//, '')])
  .filter(([, , of]) => of === 'node' || examples.some((text) => text.includes(`'${of}'`)))
  .filter(([name]) => !(name in manifest.peerDependencies))
  .map(([name, version]) => `${name}@${version}`)
  // The types of @fastify/middie import the first without depending on it; those of oidc-provider's Koa find
  // the second where no newer one, such as that of @fastify/static, is in its place.
  .concat('@types/connect@3', 'content-disposition@1')
const lowest = peers.map(([name, range]) => `${name}@${/\d+\.\d+\.\d+/.exec(range)[0]}`)
const newest = peers.map(([name]) => `${name}@latest`)
const entries = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => path.replace(/^\./, manifest.name))

/** What is in the package.json of each project. */
const MODULES = { type: 'module' }

const CONFIG = {
  compilerOptions: {
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
  },
  include: ['examples/*.ts'],
}

/** Throws when a package is installed twice: instances of one copy are no instances of the other. */
function checkCopies(folder, names) {
  const files = readdirSync(join(folder, 'node_modules'), { recursive: true }).map((file) =>
    `/${file}`.replaceAll('\\', '/'),
  )
  for (const name of names) {
    const suffix = `/${name}/package.json`
    const copies = files.filter(
      (file) => file === suffix || file.endsWith(`/node_modules${suffix}`),
    )
    if (copies.length !== 1) throw new Error(`${copies.length} copies of ${name}: ${copies}`)
    const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', copies[0]), 'utf8'))
    console.log(`ok - one copy of ${name}, ${version}`)
  }
}

/** Compiles the examples that the package brings, and runs those named. */
function checkShippedExamples(folder, ...names) {
  cpSync(join(folder, 'node_modules', manifest.name, 'examples'), join(folder, 'examples'), {
    recursive: true,
  })
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG))
  try {
    run(process.execPath, [compiler, '-p', folder], folder)
  } catch (error) {
    throw new Error(`The examples do not compile:\n${error.stdout}`)
  }
  console.log('ok - the examples compile')
  process.stdout.write(run(process.execPath, [checkExamples, 'build/examples', ...names], folder))
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
  "serveStatic({ root: '/tmp' })": 'npm install @fastify/static',
  'configuration()': 'npm install config',
}
/** Entries that are for the users of an optional package. */
const FOR_OTHERS = /\/(?:opentelemetry|prometheus|socketio|react|vue)$/

/** Throws when more is installed than the README says: packages, or megabytes of files. */
function checkSize(folder) {
  const [, packages, megabytes] = /installs at most (\d+) packages with (\d+) MB/.exec(readme)
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
  const include = ['entries.ts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...CONFIG, include }))
  try {
    run(process.execPath, [compiler, '-p', folder], folder)
  } catch (error) {
    throw new Error(`The types need an optional package:\n${error.stdout}`)
  }
  console.log('ok - the types compile')
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

/** Does with a copy of the blog that the package brings what its README says. */
function checkBlog(source, folder, tarball) {
  cpSync(join(source, 'node_modules', manifest.name, 'examples/blog'), folder, { recursive: true })
  // The release that it asks for is not in the registry yet.
  npm(['install', tarball, '--prefix', folder, '--no-audit', '--no-fund'], folder)
  npm(['test'], folder)
  console.log('ok - the blog is tested')
  process.stdout.write(run(process.execPath, [checkExamples, 'build', 'server.js'], folder))
}

await withTemporaryFolder((folder) => {
  const tarball = pack(folder)

  console.log(`\nBeside ${newest.join(' and ')}:`)
  install(join(folder, 'newest'), MODULES, [tarball, ...newest, ...others, 'tsx'])
  checkCopies(join(folder, 'newest'), ['fastify', 'mongodb', 'bson'])
  checkShippedExamples(join(folder, 'newest'), 'plugin.js', 'countries.js', 'accounts.js')
  checkCommands(join(folder, 'newest'))

  console.log('\nWithout optional packages:')
  const bare = [tarball, 'fastify@latest', 'mongodb@latest']
  install(join(folder, 'bare'), MODULES, bare)
  checkSize(join(folder, 'bare'))
  npm(
    ['install', others.find((one) => one.startsWith('@types/node@')), '--no-audit'],
    join(folder, 'bare'),
  )
  checkWithoutOptional(join(folder, 'bare'))

  console.log('\nThe blog:')
  checkBlog(join(folder, 'newest'), join(folder, 'blog'), tarball)

  console.log(`\nBeside ${lowest.join(' and ')}, installed with --engine-strict:`)
  const content = { ...MODULES, overrides }
  install(join(folder, 'lowest'), content, [tarball, ...lowest, ...others], '--engine-strict')
  checkCopies(join(folder, 'lowest'), ['fastify', 'mongodb'])
  checkShippedExamples(join(folder, 'lowest'), 'countries.js', 'accounts.js')

  console.log('\nWhere packages see no more than they declare:')
  const optional = ['@opentelemetry/api', 'prom-client']
  install(
    join(folder, 'linked'),
    MODULES,
    [tarball, ...newest, ...optional],
    '--install-strategy=linked',
  )
  const program = entries.map((specifier) => `import '${specifier}'`).join('\n')
  writeFileSync(join(folder, 'linked/entries.js'), program)
  run(process.execPath, ['entries.js'], join(folder, 'linked'))
  console.log(`ok - ${entries.join(', ')}`)
})
