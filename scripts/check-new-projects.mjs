// Makes every kind of project that `npx remex new` can make, by the packed package, in a temporary folder. All share
// one `node_modules`, with the versions that a new package.json asks for. Each is linted, compiled and tested as its
// package.json says, built, started, asked over HTTP, and ended. Two get a service by `npx remex service`, and are
// checked with it. The largest kind also compiles with the lowest version of TypeScript that the guide names.
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  findPort,
  install,
  manifest,
  Program,
  pack,
  run,
  startDatabase,
  withTemporaryFolder,
} from './outside.mjs'

const KINDS = {
  'embedded-open': '--database embedded --no-logins',
  'embedded-logins': '--database embedded --logins',
  'embedded-github': '--database embedded --logins --oauth github',
  'mongodb-open': '--database mongodb --no-logins',
  'mongodb-logins': '--database mongodb --logins',
  'mongodb-github': '--database mongodb --logins --oauth github',
}
/** Those with a template of a service each. */
const WITH_SERVICE = ['embedded-open', 'mongodb-github']

const [, lowestTypeScript] = /TypeScript (\d+\.\d+) or newer/.exec(
  readFileSync('docs/guides/new-project.md', 'utf8'),
)

const base = JSON.parse(readFileSync('templates/base/package.json', 'utf8'))

/**
 * Starts what was built, and asks for the document of the API. With the embedded database it starts as `npm run dev`
 * does, and only then serves the page for developers.
 */
async function askServer(folder, isDev, mongodbUrl) {
  const PORT = String(await findPort())
  const production = {
    NODE_ENV: 'production',
    MONGODB_URL: mongodbUrl,
    AUTH_SECRET: 'only for this check: a secret of 32 bytes',
    GITHUB_KEY: 'key',
    GITHUB_SECRET: 'secret',
  }
  const command = `exec node build/src/server.js ${isDev ? '--dev' : ''}`
  const server = new Program(folder, { PORT, ...(isDev ? {} : production) }, command)
  const document = await server.fetch(`http://127.0.0.1:${PORT}/docs/json`)
  const { paths } = await document.json()
  const page = await fetch(`http://127.0.0.1:${PORT}/`)
  const status = await server.end()
  if (page.status !== (isDev ? 200 : 404) || !('/messages' in paths) || status !== 0) {
    const found = `${page.status} for the page for developers, and has ended with ${status}`
    throw new Error(`${folder} serves ${Object.keys(paths)}, ${found}:\n${server.output}`)
  }
}

/** Starts what was built without the variables of production: one line says what is missing. */
async function checkMissing(folder) {
  const server = new Program(folder, { NODE_ENV: 'production' }, 'exec node build/src/server.js')
  await server.waitFor(() => server.hasEnded, 'starts without MONGODB_URL')
  const status = await server.end()
  if (status === 1 && /^MONGODB_URL is not set: [^\n]+\n$/.test(server.output)) return
  throw new Error(`${folder} ends with ${status} and prints:\n${server.output}`)
}

async function checkKind(root, name, mongodbUrl) {
  const folder = join(root, name)
  for (const script of ['lint', 'test', 'build']) {
    await new Program(folder, {}, `exec npm run ${script}`).finish(`${script} of ${name}`)
  }
  await checkMissing(folder)
  await askServer(folder, name.startsWith('embedded'), mongodbUrl)
  console.log(`ok - ${name} is linted, compiled, tested, and started`)
}

/** Compiles a project with the lowest version that the guide names. Throws if the one before would do. */
function checkTypeScript(folder, project) {
  const compilers = join(folder, 'compilers')
  const [major, minor] = lowestTypeScript.split('.').map(Number)
  const versions = [`${major}.${minor}`, `${major}.${minor - 1}`]
  const packages = versions.map((version) => `typescript-${version}@npm:typescript@~${version}.0`)
  install(compilers, {}, packages)
  const [lowest, older] = versions.map((version) =>
    join(compilers, `node_modules/typescript-${version}/bin/tsc`),
  )
  run(process.execPath, [lowest, '--noEmit', '-p', project], project)
  console.log(`ok - compiles with TypeScript ${lowestTypeScript}`)
  try {
    run(process.execPath, [older, '--noEmit', '-p', project], project)
  } catch {
    return
  }
  throw new Error(`Also compiles with TypeScript ${versions[1]}: say so in the guide`)
}

await withTemporaryFolder(async (folder) => {
  const root = join(folder, 'projects')
  const { remex: _own, ...others } = { ...base.dependencies, ...base.devDependencies }
  const packages = Object.entries(others).map((pair) => pair.join('@'))
  const tarball = pack(folder)
  install(root, { type: 'module' }, [tarball, ...packages])
  const remex = (cwd, ...words) => run('npx', [manifest.name, ...words], cwd)
  for (const [name, flags] of Object.entries(KINDS)) remex(root, 'new', name, ...flags.split(' '))
  const names = Object.keys(KINDS)
  const { dependencies } = JSON.parse(readFileSync(join(root, names[0], 'package.json'), 'utf8'))
  // A release that is not in the registry could not be installed.
  if (dependencies.remex !== `file:${tarball}`) throw new Error(`installs ${dependencies.remex}`)
  for (const name of WITH_SERVICE) {
    cpSync(join(root, name), join(root, `${name}-notes`), { recursive: true })
    remex(join(root, `${name}-notes`), 'service', 'notes')
    names.push(`${name}-notes`)
  }
  const database = await startDatabase(root)
  try {
    // Two at a time: a process of each waits while another one computes.
    const work = async () => {
      for (let name = names.shift(); name !== undefined; name = names.shift()) {
        await checkKind(root, name, database.url)
      }
    }
    await Promise.all([work(), work()])
    checkTypeScript(folder, join(root, 'mongodb-github-notes'))
  } finally {
    await database.close()
  }
})
