import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The id of the record that every server has. */
export const RECORD_ID = 'record-1'

/** Another process, which does one task after the other. */
export interface TaskProcess {
  readonly pid: number | undefined
  /** Resolves to what the task returns. */
  ask<Result>(task: string, input?: unknown): Promise<Result>
  stop(): void
}

/** Starts a process that calls {@link serveTasks}. */
export function startProcess(file: string, flags: readonly string[] = []): TaskProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: [...flags] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${file} has ended`)))
  ended.catch(() => undefined)
  return {
    pid: child.pid,
    async ask(task, input) {
      child.send({ task, input })
      const [answer] = await Promise.race([once(child, 'message'), ended])
      return answer.result
    },
    stop: () => child.kill('SIGKILL'),
  }
}

/** Does what the parent asks for until it is gone: tasks by their name. */
// biome-ignore lint/suspicious/noExplicitAny: each task has an input of its own
export function serveTasks(tasks: Readonly<Record<string, (input: any) => unknown>>): void {
  process.on('disconnect', () => process.exit())
  process.on('message', async ({ task, input }: { task: string; input: unknown }) => {
    process.send?.({ result: await tasks[task]?.(input) })
  })
}
