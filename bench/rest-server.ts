import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Ports, Question } from './child-answers.ts'
import { pinLoad } from './pin.ts'

// V8 sizes the space for young objects by what happened before, and shrinks it in idle moments: a
// server with a small one collects ten times as often, which costs up to a third of a request.
export const STEADY_FLAGS: readonly string[] = [
  '--min-semi-space-size=16',
  '--max-semi-space-size=16',
]

/** A server in a process of its own. */
export interface ServerProcess<Kind extends string> {
  readonly kind: Kind
  readonly ports: Ports
  /** Returns CPU time in ms, memory or heap in bytes. */
  ask(question: Question): Promise<number>
  stop(): Promise<void>
}

/** What the processes of the benchmark `rest` run. */
export const REST_CHILD = new URL('./rest-child.js', import.meta.url)

const pinServer = pinLoad()

/**
 * Starts a server in a fresh process; resolves once it listens.
 * @param file what the process runs: it is told the kind, and calls `answerParent()`
 * @param flags for Node, beside the one that lets memory be collected
 */
export async function startServer<Kind extends string>(
  file: URL,
  kind: Kind,
  flags: readonly string[] = [],
): Promise<ServerProcess<Kind>> {
  const child = fork(fileURLToPath(file), [kind], { execArgv: ['--expose-gc', ...flags] })
  const first = await nextAnswer(child)
  pinServer(child.pid)
  if (!('ports' in first)) throw new Error(`The server '${kind}' did not start`)
  return {
    kind,
    ports: first.ports,
    async ask(question) {
      const next = nextAnswer(child)
      child.send(question)
      const answer = await next
      return 'value' in answer ? answer.value : Number.NaN
    },
    async stop() {
      const exit = once(child, 'exit')
      // Not asked to end: some servers wait for connections before they do.
      child.kill('SIGKILL')
      await exit
    },
  }
}

async function nextAnswer(child: ChildProcess): Promise<Answer> {
  const failure = new AbortController()
  const fail = (): void => failure.abort(new Error('The server process ended'))
  child.once('exit', fail)
  try {
    const [answer] = await once(child, 'message', { signal: failure.signal })
    return answer as Answer
  } finally {
    child.off('exit', fail)
  }
}
