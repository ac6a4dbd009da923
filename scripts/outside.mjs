// Projects in temporary folders outside of this one, which have the packed package as its users do, and programs in
// them. They are started by bash.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

export const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
/** Only what hangs reaches it: an installation waits for the registry and for what else the machine does. */
const WAIT_MS = 900_000
/** How long a program may take to end. */
const END_MS = 10_000

/** Returns the environment without the options of the npm that runs this script, and those of the applications. */
export function toOuterEnv() {
  const { MONGODB_URL: _url, AUTH_SECRET: _secret, NODE_ENV: _mode, ...env } = process.env
  const isOwn = ([name]) => /^npm_(?!config_(registry|cache)$)/i.test(name)
  return Object.fromEntries(Object.entries(env).filter((pair) => !isOwn(pair)))
}

/** Runs a program to its end. Returns what it has written; throws with it when the program fails. */
export function run(command, options, cwd, variables = {}) {
  const setup = { cwd, env: { ...toOuterEnv(), ...variables }, encoding: 'utf8' }
  try {
    return execFileSync(command, options, { ...setup, stdio: ['ignore', 'pipe', 'inherit'] })
  } catch (error) {
    throw new Error(`${command} ${options.join(' ')} in ${cwd}:\n${error.stdout}`)
  }
}

/** Packs the package, as it is built now, into a folder. Returns the path of the tarball. */
export function pack(folder) {
  // `dist` is built, and building it again would take it away from what uses it now.
  run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], '.')
  return join(folder, `${manifest.name}-${manifest.version}.tgz`)
}

/** Makes a project with the packages in it. */
export function install(folder, content, packages, ...options) {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, ...content }))
  run('npm', ['install', ...packages, '--no-audit', '--no-fund', ...options], folder)
}

/** Resolves to an embedded server of the package that a project has. */
export async function startDatabase(folder) {
  const path = manifest.exports['./embedded'].default
  const entry = join(folder, 'node_modules', manifest.name, path)
  const { startEmbeddedMongo } = await import(pathToFileURL(entry).href)
  return startEmbeddedMongo()
}

/** Resolves when `use` is through with a temporary folder, which is removed then. */
export async function withTemporaryFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), `${manifest.name}-outside-`))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves to a free port. It stays free: no system takes one of these for a program that asks for any. */
export async function findPort() {
  const port = 10_000 + Math.floor(Math.random() * 20_000)
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return findPort()
  }
  await once(server.close(), 'close')
  return port
}

/** A command that bash runs, with all that it starts. */
export class Program {
  /** What it has printed. */
  output = ''
  #child
  #ended

  /** @param command without one, the lines that are written to it */
  constructor(folder, variables, command) {
    // A process group of its own, by which all of it is ended.
    this.#child = spawn('bash', command === undefined ? ['-s'] : ['-c', command], {
      cwd: folder,
      env: { ...toOuterEnv(), ...variables },
      detached: true,
    })
    const kill = () => this.#kill('SIGKILL')
    process.once('exit', kill)
    this.#ended = once(this.#child, 'close').finally(() => process.off('exit', kill))
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += text
      })
    }
  }

  get hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  write(text) {
    this.#child.stdin.write(text)
  }

  /** Resolves to what `look` returns once that is neither `undefined` nor `false`. Throws if that never comes. */
  async waitFor(look, what) {
    const deadline = Date.now() + WAIT_MS
    for (;;) {
      const isLast = this.hasEnded || Date.now() > deadline
      const found = await look()
      if (found !== undefined && found !== false) return found
      if (isLast) throw new Error(`${what}:\n${this.output}`)
      await delay(50)
    }
  }

  /** Resolves to the first answer over HTTP. Throws where the program ends before. */
  async fetch(url) {
    return this.waitFor(() => fetch(url).catch(() => undefined), `no answer of ${url}`)
  }

  /** Resolves to what it has printed when it has ended with status 0; throws otherwise. */
  async finish(what) {
    await this.waitFor(() => this.hasEnded, `${what} does not end`)
    if ((await this.end()) !== 0) throw new Error(`${what} has failed:\n${this.output}`)
    return this.output
  }

  /** Ends it. Resolves to its status, or to the signal that has ended it. */
  async end(signal = 'SIGTERM') {
    this.#kill(signal)
    const timer = setTimeout(() => this.#kill('SIGKILL'), END_MS)
    const [status, ended] = await this.#ended
    clearTimeout(timer)
    return status ?? ended
  }

  #kill(signal) {
    if (!this.hasEnded) process.kill(-this.#child.pid, signal)
  }
}
