// Does what docs/tutorial says, page by page, as a reader does: makes the project by the packed package in
// a temporary folder, writes the files, makes the edits, runs the commands, and compares what they print.
// After each page the project is compiled and tested. At the end it is built by the folders that its
// Dockerfile copies, started in production, and asked over HTTP for its page and its services.
//
// What a fenced block is stands behind its backticks:
//
//   ```ts src/app.ts               the whole file, of any language
//   ```diff src/app.ts             an edit: see page-blocks.mjs
//   ```ts in src/app.ts            lines that are in the file
//   ```sh                          commands that end
//   ```sh start                    a server, which takes the place of the one before
//   ```sh follow                   commands of another terminal, which go on
//   ```sh docker                   commands that need Docker
//   ```json, ```text               what the commands before it print: one value, or lines in this order
//   ```text follow                 what those of the other terminal have printed by now
//   ```text start                  what the server has printed by now
//
// In what is printed `…` stands for anything, and ids and dates are not compared.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import {
  findPort,
  install,
  Program,
  pack,
  run,
  startDatabase,
  withTemporaryFolder,
} from './outside.mjs'
import { applyDiff, compareOutput, findOnce } from './page-blocks.mjs'

const PAGES = 'docs/tutorial'
const BLOCK = /^```(\w+)(?: ([^\n]*))?\n([\s\S]*?)^```$/gm
const MARKS = { sh: ['', 'start', 'follow', 'docker'], json: [''], text: ['', 'follow', 'start'] }
const STARTED = 'The API is at'

/**
 * Returns the blocks of a page: a `kind`, the `text`, and the `place` of the block for errors; files have a `path`.
 * @param ports ports to take in the place of those of the pages
 */
function readBlocks(name, ports) {
  let page = readFileSync(join(PAGES, name), 'utf8').replaceAll('\r', '')
  for (const [port, other] of Object.entries(ports)) {
    page = page.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${other}`)
  }
  return [...page.matchAll(BLOCK)].map(({ 1: language, 2: info = '', 3: text, index }) => {
    const place = `${name}:${page.slice(0, index).split('\n').length}`
    if (MARKS[language]?.includes(info)) return { kind: `${language} ${info}`.trim(), text, place }
    const [, isPart, path] = /^(in )?(\S+)$/.exec(info) ?? []
    if (path === undefined) throw new Error(`${place}: a block of ${language} has no file`)
    return { kind: isPart ? 'part' : language === 'diff' ? 'diff' : 'file', path, text, place }
  })
}

/** Does in a folder what a block with a file says. */
function applyFile(folder, { kind, path, text, place }) {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  if (kind === 'file') return writeFileSync(file, text)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (kind === 'part') findOnce(before, text, `${place}: ${path}`)
  else writeFileSync(file, applyDiff(before, text, `${place}: ${path}`))
}

/** Resolves when a program has printed what a block says. */
const waitForOutput = (program, block) =>
  program.waitFor(() => {
    try {
      compareOutput(block, program.output)
      return true
    } catch {
      return false
    }
  }, `${block.place}: not printed`)

/** What a reader has in front of them. */
class Desk {
  /** The folder of the project, the one around it before there is a project. */
  folder
  #env
  #tarball
  #terminal
  #commands = 0
  #server
  /** The block that has started the server of the project. */
  #start
  #isEdited = false
  #isTested = false

  constructor(root, tarball, env) {
    this.folder = root
    this.#tarball = tarball
    this.#env = env
  }

  /** Does what a page says, in a new terminal. Resolves when the project has been tested. */
  async followPage(blocks) {
    this.#terminal = new Program(this.folder, this.#env)
    // What has been printed last.
    let printed = ''
    for (const block of blocks) {
      if (block.kind === 'sh') printed = await this.#run(block)
      else if (block.kind === 'sh start') printed = await this.#startServer(block)
      else if (block.kind === 'sh follow') this.#terminal.write(`(\n${block.text}) &\n`)
      else if (block.kind === 'text follow') await waitForOutput(this.#terminal, block)
      else if (block.kind === 'text start') await waitForOutput(this.#server, block)
      else if (block.kind === 'json' || block.kind === 'text') compareOutput(block, printed)
      else if (block.path !== undefined) {
        applyFile(this.folder, block)
        this.#isEdited = true
        this.#isTested = false
      }
    }
    if (!this.#isTested) await this.#run({ text: 'npm test\n', place: 'the tests after the page' })
    await this.#terminal.end()
  }

  async leave() {
    await this.#terminal?.end()
    await this.#server?.end()
  }

  /** Resolves to what commands print to their standard output. What they set stays for the next ones. */
  async #run({ text, place }) {
    // The watcher of a reader does so by itself, at a moment that is not known here.
    if (this.#isEdited && this.#start !== undefined) await this.#startServer(this.#start)
    this.#commands += 1
    const file = `${this.#tarball}-${this.#commands}`
    this.#terminal.write(
      `set -o pipefail; failed=0; trap 'failed=$?' ERR\n{\n${text}} >'${file}.out' </dev/null\n` +
        `trap - ERR; echo $failed >'${file}.new'; mv '${file}.new' '${file}'\n`,
    )
    await this.#terminal.waitFor(() => existsSync(file), `${place} does not end`)
    const printed = readFileSync(`${file}.out`, 'utf8')
    const status = readFileSync(file, 'utf8').trim()
    if (status !== '0') {
      throw new Error(`${place} has failed with ${status}:\n${printed}${this.#terminal.output}`)
    }
    this.#isTested ||= /^npm test$/m.test(text)
    const [, name] = /\bremex new (\S+)/.exec(text) ?? []
    if (name !== undefined) this.folder = join(this.folder, name)
    return printed
  }

  async #startServer(block) {
    await this.#server?.end()
    this.#server = new Program(this.folder, this.#env, block.text)
    this.#start = block.text.includes('npm run dev') ? block : undefined
    this.#isEdited = false
    await waitForOutput(this.#server, { ...block, kind: 'text', text: `${STARTED} …\n` })
    return this.#server.output
  }
}

/**
 * Builds in a folder what the Dockerfile would build in an image, by the same folders. Returns the
 * folder of the application. What npm has installed is taken from the project.
 */
function buildImage(project, folder) {
  const [stage, app] = [join(folder, 'stage'), join(folder, 'app')]
  const dockerfile = readFileSync(join(project, 'Dockerfile'), 'utf8')
  const [first, last] = dockerfile.split(/^FROM /m).slice(1)
  const copy = (from, to, names) => {
    mkdirSync(to, { recursive: true })
    for (const name of names) cpSync(join(from, name), join(to, name), { recursive: true })
    symlinkSync(join(project, 'node_modules'), join(to, 'node_modules'))
  }
  copy(
    project,
    stage,
    [...first.matchAll(/^COPY (.*) \S+$/gm)].flatMap(([, names]) => names.split(' ')),
  )
  run('npm', ['run', 'build'], stage)
  const built = last.matchAll(/^COPY --from=build \/app\/(?!node_modules)(\S+)/gm)
  copy(
    stage,
    app,
    [...built].map(([, name]) => name),
  )
  cpSync(join(project, 'package.json'), join(app, 'package.json'))
  return app
}

/** Asks what was built for all that it serves, and for its health as compose.yaml does. */
async function askBuilt(folder, project, env) {
  const server = new Program(folder, env, 'exec node build/src/server.js\n')
  const url = `http://127.0.0.1:${env.PORT}`
  const paths = {
    '/': 200,
    '/main.js': 200,
    '/health/ready': 200,
    '/docs/json': 200,
    '/tasks': 401,
  }
  await server.fetch(url)
  for (const [path, status] of Object.entries(paths)) {
    const answer = await fetch(url + path)
    if (answer.status === status) continue
    throw new Error(`${path} is ${answer.status}: ${await answer.text()}\n${server.output}`)
  }
  const { services } = parse(readFileSync(join(project, 'compose.yaml'), 'utf8'))
  const [, command, ...words] = services.app.healthcheck.test
  run(command, words, folder)
  const status = await server.end()
  if (status !== 0) throw new Error(`The built application has ended with ${status}`)
}

await withTemporaryFolder(async (folder) => {
  const root = join(folder, 'desk')
  const tarball = pack(folder)
  install(root, {}, [tarball])
  const database = await startDatabase(root)
  const PORT = String(await findPort())
  const desk = new Desk(root, tarball, { PORT })
  const ports = { 3030: PORT, 27017: new URL(database.url).port }
  try {
    for (const name of readdirSync(PAGES)
      .filter((one) => /^\d.*\.md$/.test(one))
      .sort()) {
      await desk.followPage(readBlocks(name, ports))
      console.log(`ok - ${name} can be followed, and its project passes its tests`)
    }
    await desk.leave()
    const AUTH_SECRET = 'only for this check: a secret of 32 bytes'
    const production = { NODE_ENV: 'production', MONGODB_URL: database.url, AUTH_SECRET, PORT }
    await askBuilt(buildImage(desk.folder, join(folder, 'image')), desk.folder, production)
    console.log('ok - what is built serves the page and the services')
  } finally {
    await desk.leave()
    await database.close()
  }
})
