// Makes every kind of project that `npx remex new` can make, by the packed package, in a temporary folder. All share
// one `node_modules`, with the versions that a new package.json asks for. Each is compiled and tested as its
// package.json says, built, started, asked over HTTP, and ended. Two get a service by `npx remex service`, and are
// compiled and tested with it.
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

async function checkKind(root, name, mongodbUrl) {
  const folder = join(root, name)
  for (const script of ['test', 'build']) {
    await new Program(folder, {}, `exec npm run ${script}`).finish(`${script} of ${name}`)
  }
  await askServer(folder, name.startsWith('embedded'), mongodbUrl)
  console.log(`ok - ${name} is compiled, tested, and started`)
}

await withTemporaryFolder(async (folder) => {
  const root = join(folder, 'projects')
  const { remex: _own, ...others } = { ...base.dependencies, ...base.devDependencies }
  const packages = Object.entries(others).map((pair) => pair.join('@'))
  install(root, { type: 'module' }, [pack(folder), ...packages])
  const remex = (cwd, ...words) => run('npx', [manifest.name, ...words], cwd)
  for (const [name, flags] of Object.entries(KINDS)) remex(root, 'new', name, ...flags.split(' '))
  const names = Object.keys(KINDS)
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
  } finally {
    await database.close()
  }
})
