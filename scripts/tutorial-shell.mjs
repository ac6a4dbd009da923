// A shell for commands of docs/tutorial.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { toOuterEnv } from './packed-package.mjs'
import { compareOutput } from './tutorial-pages.mjs'

// Only what hangs reaches it: an installation waits for the registry and for what else the machine does.
const WAIT_MS = 900_000

/** A shell, and all that is started in it. */
export class Shell {
  /** What it has printed, but for the standard output of `run`. */
  output = ''
  #child
  #ended
  #answers = mkdtempSync(join(tmpdir(), 'remex-shell-'))
  #count = 0

  /** @param command what it runs; without it, it takes what `run` and `follow` get */
  constructor(folder, variables, command) {
    // Nothing that would change where the application reads, and whether it is in production.
    const { MONGODB_URL: _url, AUTH_SECRET: _secret, NODE_ENV: _mode, ...env } = toOuterEnv()
    // A process group of its own, by which all of it is ended.
    this.#child = spawn('bash', command === undefined ? ['-s'] : ['-c', command], {
      cwd: folder,
      env: { ...env, ...variables },
      detached: true,
    })
    this.#ended = once(this.#child, 'close')
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += text
      })
    }
  }

  /**
   * Resolves to what commands have printed to their standard output. What they have set stays for the
   * next ones. Throws when one of them fails.
   */
  async run({ text, place }) {
    this.#count += 1
    const answer = join(this.#answers, String(this.#count))
    this.#child.stdin.write(
      `set -o pipefail; failed=0; trap 'failed=$?' ERR\n{\n${text}} >'${answer}.out' </dev/null\n` +
        `trap - ERR; echo $failed >'${answer}.new'; mv '${answer}.new' '${answer}'\n`,
    )
    await this.#until(() => existsSync(answer), `${place} does not end`)
    const [status, printed] = [answer, `${answer}.out`].map((file) => readFileSync(file, 'utf8'))
    if (status.trim() === '0') return printed
    throw new Error(`${place} has failed with ${status.trim()}:\n${printed}${this.output}`)
  }

  /** Has commands run beside those that come after them. */
  follow({ text }) {
    this.#child.stdin.write(`(\n${text}) &\n`)
  }

  /** Resolves when it has printed what a block says. */
  async waitFor(block) {
    const isPrinted = () => {
      try {
        compareOutput(block, this.output)
        return true
      } catch {
        return false
      }
    }
    await this.#until(isPrinted, `${block.place}: not printed`)
  }

  async #until(check, what) {
    const deadline = Date.now() + WAIT_MS
    while (!check()) {
      const hasEnded = this.#child.exitCode !== null
      if (hasEnded || Date.now() > deadline) throw new Error(`${what}:\n${this.output}`)
      await delay(50)
    }
  }

  /** Ends it with all that it has started. Resolves to its status. */
  async end() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      process.kill(-this.#child.pid, 'SIGTERM')
    }
    const [status] = await this.#ended
    rmSync(this.#answers, { recursive: true, force: true })
    return status
  }
}
