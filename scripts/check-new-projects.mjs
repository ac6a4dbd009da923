// Makes every kind of project that `npx remex new` can make, by the packed package, in a temporary folder.
// All share one `node_modules`, with the versions that a new package.json asks for. Each is compiled and
// tested as its package.json says, built, started, asked over HTTP, and ended. Two get a service by
// `npx remex service`, and are compiled and tested with it.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { findFreePort } from './free-port.mjs'
import { install, pack, run, toOuterEnv, withTemporaryFolder } from './packed-package.mjs'

const START_MS = 600_000
/** A login with GitHub is a login, so that of eight combinations six are there. */
const ACCESS = {
  open: ['--no-logins'],
  logins: ['--logins'],
  github: ['--logins', '--oauth', 'github'],
}
const KINDS = ['embedded', 'mongodb'].flatMap((database) =>
  Object.entries(ACCESS).map(([name, flags]) => ({
    name: `${database}-${name}`,
    flags: ['--database', database, ...flags],
    database,
  })),
)
/** Those with a template of a service each. */
const WITH_SERVICE = ['embedded-open', 'mongodb-github']

const windows = process.platform === 'win32'
const { dependencies, devDependencies } = JSON.parse(
  readFileSync('templates/base/package.json', 'utf8'),
)

/** Runs a script of a project. Throws with all that it has printed where it fails. */
async function runScript(folder, name) {
  const options = { cwd: folder, env: toOuterEnv(), shell: windows }
  await promisify(execFile)(windows ? 'npm.cmd' : 'npm', ['run', name], options).catch((error) => {
    throw new Error(`npm run ${name} in ${folder}:\n${error.stdout}${error.stderr}`)
  })
}

/**
 * Starts what was built, and asks for the document of the API. With the embedded database it starts as `npm run dev`
 * does, and only then serves the page for developers.
 */
async function askServer(folder, database, mongodbUrl) {
  const port = await findFreePort()
  const production = {
    NODE_ENV: 'production',
    MONGODB_URL: mongodbUrl,
    AUTH_SECRET: 'only for this check: a secret of 32 bytes',
    GITHUB_KEY: 'key',
    GITHUB_SECRET: 'secret',
  }
  const { NODE_ENV: _mode, ...outer } = toOuterEnv()
  const isDev = database === 'embedded'
  const words = ['build/src/server.js', ...(isDev ? ['--dev'] : [])]
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: { ...outer, PORT: String(port), ...(isDev ? {} : production) },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const ended = once(child, 'close')
  const paths = await readPaths(`http://127.0.0.1:${port}/docs/json`, child)
  const page = await fetch(`http://127.0.0.1:${port}/`).catch(({ message }) => ({
    status: message,
  }))
  child.kill('SIGTERM')
  const [status] = await ended
  if (page.status !== (isDev ? 200 : 404)) {
    throw new Error(`${folder} answers ${page.status} for the page for developers:\n${output}`)
  }
  if (!paths.includes('/messages') || (status !== 0 && !windows)) {
    throw new Error(`${folder} serves ${paths}, and has ended with ${status}:\n${output}`)
  }
}

/** Resolves to the paths in the document, none where the server has ended or the time is up. */
async function readPaths(url, child) {
  const deadline = Date.now() + START_MS
  while (child.exitCode === null && Date.now() < deadline) {
    try {
      const { paths } = await (await fetch(url)).json()
      return Object.keys(paths)
    } catch {
      await delay(100)
    }
  }
  return []
}

async function checkKind({ name, database }, root, mongodbUrl) {
  const folder = join(root, name)
  await runScript(folder, 'test')
  await runScript(folder, 'build')
  await askServer(folder, database, mongodbUrl)
  console.log(`ok - ${name} is compiled, tested, and started`)
}

await withTemporaryFolder(async (folder) => {
  const root = join(folder, 'projects')
  const others = Object.entries({ ...dependencies, ...devDependencies })
    .filter(([name]) => name !== 'remex')
    .map(([name, range]) => `${name}@${range}`)
  install(root, { type: 'module' }, [pack(folder), ...others])
  const remex = (cwd, ...words) => run(windows ? 'npx.cmd' : 'npx', ['remex', ...words], cwd)
  for (const { name, flags } of KINDS) remex(root, 'new', name, ...flags)
  const kinds = [...KINDS]
  for (const name of WITH_SERVICE) {
    const kind = KINDS.find((one) => one.name === name)
    kinds.push({ ...kind, name: `${name}-notes` })
    cpSync(join(root, name), join(root, `${name}-notes`), { recursive: true })
    remex(join(root, `${name}-notes`), 'service', 'notes')
  }

  const { startEmbeddedMongo } = await import(
    pathToFileURL(join(root, 'node_modules/remex/dist/adapter/embedded/index.js')).href
  )
  const server = await startEmbeddedMongo()
  try {
    // Two at a time: a process of each waits while another one computes.
    const work = async () => {
      for (let kind = kinds.shift(); kind !== undefined; kind = kinds.shift()) {
        await checkKind(kind, root, server.url)
      }
    }
    await Promise.all([work(), work()])
  } finally {
    await server.close()
  }
})
