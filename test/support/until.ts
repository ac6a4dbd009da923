import { setTimeout as delay } from 'node:timers/promises'

/** How long to wait before looking again: it decides how busy the wait is, and no outcome. */
const PAUSE_MS = 5

/**
 * Resolves as soon as a condition holds, for what tells nobody when it happens. It has no time limit
 * of its own: a test that waits in vain ends with the time limit of its file, and by its name.
 */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await delay(PAUSE_MS)
}

/**
 * Resolves when everything that could go on within the process has had its turn several times: what
 * has not happened then does not happen.
 */
export async function laterTurns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate)
}
