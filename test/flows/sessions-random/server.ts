import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../sessions-process.js', import.meta.url))

export interface Answer {
  readonly status: number
  readonly body: unknown
}

interface RequestOptions {
  readonly data?: object
  readonly token?: string
  /** Whether the server closes the connection instead of an answer. */
  readonly isLost?: boolean
}

/** A server in a process of its own, which can be killed. */
export class Server {
  readonly #child: ChildProcess
  readonly #origin: string
  #answersLeft = Number.POSITIVE_INFINITY
  #isKilled = false

  constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.#origin = `http://127.0.0.1:${port}`
  }

  get isKilled(): boolean {
    return this.#isKilled
  }

  /** Kills the process after this number of answers: it may be at work on other requests then. */
  killAfter(answers: number): void {
    this.#answersLeft = answers
  }

  /** Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#killNow()
    const { exitCode, signalCode } = this.#child
    if (exitCode === null && signalCode === null) await once(this.#child, 'exit')
  }

  /** Resolves to `null` where the answer is lost, or the process was killed before. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer | null> {
    const { isLost = false } = options
    const answer = await this.#fetch(method, path, options).catch((error: unknown) => {
      if (isLost || this.#isKilled) return null
      throw error
    })
    if (answer === null) return null
    assert.equal(isLost, false, 'an answer came that was to be lost')
    this.#answersLeft -= 1
    if (this.#answersLeft === 0) this.#killNow()
    return answer
  }

  async #fetch(method: string, path: string, { data, token, isLost }: RequestOptions) {
    const response = await fetch(this.#origin + path, {
      method,
      headers: {
        ...(data === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(isLost ? { 'x-lose-answer': 'yes' } : {}),
      },
      body: data === undefined ? null : JSON.stringify(data),
    })
    return { status: response.status, body: (await response.json()) as unknown }
  }

  #killNow(): void {
    this.#isKilled = true
    this.#child.kill('SIGKILL')
  }
}

/** @param children gets the process, for the end of the test */
export async function startServer(argument: object, children: ChildProcess[]): Promise<Server> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return new Server(child, Number.parseInt(String(port), 10))
}
