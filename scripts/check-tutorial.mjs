// Does what docs/tutorial says, page by page, as a reader does: makes the project by the packed package in
// a temporary folder, writes the files, makes the edits, runs the commands, and compares what they print.
// After each page the project is compiled and tested. At the end it is built by the folders that its
// Dockerfile copies, started in production, and asked over HTTP for its page and its services.
// `--keep <folder>` keeps the project as each page leaves it.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { findLastingPort } from './free-port.mjs'
import { install, pack, run, withTemporaryFolder } from './packed-package.mjs'
import { applyFile, compareOutput, readPages } from './tutorial-pages.mjs'
import { Shell } from './tutorial-shell.mjs'

const { values: options } = parseArgs({ options: { keep: { type: 'string' } } })
const STARTED = 'The API is at'

/** What a reader has in front of them. */
class Desk {
  #root
  #env
  #tarball
  #folder
  #terminal
  #server
  /** The block that has started the server. */
  #start
  #isEdited = false
  #isTested = false

  constructor(root, tarball, env) {
    this.#root = root
    this.#tarball = tarball
    this.#env = env
  }

  /** The folder of the project, the one around it before there is a project. */
  get folder() {
    return this.#folder ?? this.#root
  }

  /** Does what a page says, in a new terminal. Resolves when the project has been tested. */
  async followPage({ blocks }) {
    this.#terminal = new Shell(this.folder, this.#env)
    // What has been printed last.
    let printed = ''
    for (const block of blocks) {
      if (block.kind === 'sh') printed = await this.#run(block)
      else if (block.kind === 'sh start') printed = await this.#startServer(block)
      else if (block.kind === 'sh follow') this.#terminal.follow(block)
      else if (block.kind === 'text follow') await this.#terminal.waitFor(block)
      else if (block.kind === 'json' || block.kind === 'text') compareOutput(block, printed)
      else if (block.path !== undefined) this.#edit(block)
    }
    if (!this.#isTested) {
      await this.#terminal.run({ text: 'npm test\n', place: 'the tests after the page' })
    }
    await this.#terminal.end()
  }

  async leave() {
    await this.#terminal?.end()
    await this.#server?.end()
  }

  async #run(block) {
    // The watcher of a reader does so by itself, at a moment that nobody could wait for here.
    if (this.#isEdited && this.#start !== undefined) await this.#startServer(this.#start)
    const printed = await this.#terminal.run(block)
    this.#isTested ||= /^npm test$/m.test(block.text)
    const [, name] = /\bremex new (\S+)/.exec(block.text) ?? []
    if (name !== undefined) this.#adopt(name)
    return printed
  }

  /** Has the project install the packed package, in the place of one of the registry. */
  #adopt(name) {
    this.#folder = join(this.#root, name)
    const file = join(this.#folder, 'package.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    manifest.dependencies.remex = `file:${this.#tarball}`
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
  }

  async #startServer(block) {
    await this.#server?.end()
    this.#server = new Shell(this.folder, this.#env, block.text)
    this.#start = block.text.includes('npm run dev') ? block : undefined
    this.#isEdited = false
    await this.#server.waitFor({ ...block, kind: 'text', text: `${STARTED} …\n` })
    return this.#server.output
  }

  #edit(block) {
    applyFile(this.folder, block)
    this.#isEdited = true
    this.#isTested = false
  }
}

/**
 * Builds in a folder what the Dockerfile would build in an image, by the same folders. Resolves to the
 * folder of the application. What npm has installed is taken from the project.
 */
async function buildImage(project, folder) {
  const [stage, app] = [join(folder, 'stage'), join(folder, 'app')]
  const [first, last] = readFileSync(join(project, 'Dockerfile'), 'utf8')
    .split(/^FROM /m)
    .slice(1)
  const copy = (from, to) => cpSync(from, to, { recursive: true })
  const link = (to) =>
    symlinkSync(join(project, 'node_modules'), join(to, 'node_modules'), 'junction')
  mkdirSync(stage, { recursive: true })
  mkdirSync(app)
  link(stage)
  for (const [, names] of first.matchAll(/^COPY (.*) \S+$/gm)) {
    for (const name of names.split(' ')) copy(join(project, name), join(stage, name))
  }
  const builder = new Shell(stage, {})
  await builder.run({ text: 'npm run build\n', place: 'the build' })
  await builder.end()
  link(app)
  for (const [, name] of last.matchAll(/^COPY --from=build \/app\/(?!node_modules)(\S+)/gm)) {
    copy(join(stage, name), join(app, name))
  }
  copy(join(project, 'package.json'), join(app, 'package.json'))
  return app
}

/** Asks what was built for all that it serves, and for its health as compose.yaml does. */
async function askBuilt(folder, project, env, port) {
  const server = new Shell(folder, env, 'exec node build/src/server.js\n')
  let status
  try {
    await server.waitFor({ kind: 'text', text: `${STARTED} …\n`, place: 'the built application' })
    const paths = {
      '/': 200,
      '/main.js': 200,
      '/health/ready': 200,
      '/docs/json': 200,
      '/tasks': 401,
    }
    for (const [path, status] of Object.entries(paths)) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      if (answer.status === status) continue
      throw new Error(`${path} is ${answer.status}: ${await answer.text()}\n${server.output}`)
    }
    const { services } = parse(readFileSync(join(project, 'compose.yaml'), 'utf8'))
    const [, command, ...words] = services.app.healthcheck.test
    run(command, words, folder)
  } finally {
    status = await server.end()
  }
  if (status !== 0) throw new Error(`The built application has ended with ${status}`)
}

await withTemporaryFolder(async (folder) => {
  const root = join(folder, 'desk')
  const tarball = pack(folder)
  install(root, {}, [tarball])
  const { startEmbeddedMongo } = await import(
    pathToFileURL(join(root, 'node_modules/remex/dist/adapter/embedded/index.js')).href
  )
  const database = await startEmbeddedMongo()
  const ports = { 3030: await findLastingPort(), 27017: new URL(database.url).port }
  const desk = new Desk(root, tarball, { PORT: String(ports[3030]) })
  try {
    for (const page of readPages(ports)) {
      await desk.followPage(page)
      if (options.keep !== undefined) {
        const filter = (path) => !/[\\/](node_modules|\.data)$/.test(path)
        cpSync(desk.folder, join(resolve(options.keep), page.name), { recursive: true, filter })
      }
      console.log(`ok - ${page.name} can be followed, and its project passes its tests`)
    }
    await desk.leave()
    const app = await buildImage(desk.folder, join(folder, 'image'))
    const secret = 'only for this check: a secret of 32 bytes'
    const production = { NODE_ENV: 'production', MONGODB_URL: database.url, AUTH_SECRET: secret }
    const port = ports[3030]
    await askBuilt(app, desk.folder, { ...production, PORT: String(port) }, port)
    console.log('ok - what is built serves the page and the services')
  } finally {
    await desk.leave()
    await database.close()
  }
})
