import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'

/** How long to wait before looking again: it decides how busy the wait is, and no outcome. */
const PAUSE_MS = 5

/** What is waited for, as errors made where that is. */
const waits = new Set<Error>()

// On the error stream: tap writes no more of a test that has ended.
t.on('timeout', () => {
  for (const { stack } of waits) console.error(`# ended by its time limit: ${stack}`)
})

/**
 * Resolves as soon as a condition holds, for what tells nobody when it happens; rejects as soon as
 * `work` does, which has to make it true. It has no time limit of its own: a test that waits in vain
 * ends with the time limit of its file, and says which condition it has waited for, and where. A
 * condition about something that grows has to hold from then on: `count >= 2`, for `count === 2` may
 * be over before anybody has looked.
 */
export async function until(condition: () => unknown, work?: Promise<unknown>): Promise<void> {
  const failures: unknown[] = []
  work?.catch((error: unknown) => failures.push(error))
  const wait = new Error(`until(${condition})`)
  waits.add(wait)
  try {
    while (!(await condition())) {
      if (failures.length > 0) throw failures[0]
      await delay(PAUSE_MS)
    }
  } finally {
    waits.delete(wait)
  }
}

/**
 * Resolves when everything that could go on within the process has had its turn several times: what
 * has not happened then does not happen.
 */
export async function laterTurns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate)
}
