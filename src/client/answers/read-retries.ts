import { ServiceError } from '../../core/errors/index.ts'
import type { Answer } from '../connection.ts'

/** How often a read is sent again, and what ends that. */
export interface RetryLimits {
  /** How many times it is sent again at most. */
  readonly retries: number
  readonly signal: AbortSignal | undefined
}

/** Statuses of servers that may have an answer a little later. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** How long to wait where the server does not say, doubled each time. */
const FIRST_WAIT_MS = 250

/** The longest wait: a caller whom the server tells to wait longer gets the answer at once. */
const MAX_WAIT_MS = 30_000

/** The share of a wait that is added by chance: clients that were refused together come apart. */
const JITTER = 0.25

/**
 * Resolves to the answer to a read, which is sent again while the server can not answer, at the time
 * that its `Retry-After` names.
 */
export async function sendRead(
  send: () => Promise<Answer>,
  { retries, signal }: RetryLimits,
): Promise<Answer> {
  for (let retry = 0; retry < retries; retry += 1) {
    const { waitMs, finish } = await settle(send(), retry)
    if (waitMs === undefined || waitMs > MAX_WAIT_MS) return finish()
    await wait(waitMs * (1 + JITTER * Math.random()), signal)
  }
  return send()
}

interface Settled {
  /** `undefined` where another attempt would change nothing. */
  readonly waitMs: number | undefined
  /** Returns the answer, or throws why there is none. */
  readonly finish: () => Answer
}

async function settle(sent: Promise<Answer>, retry: number): Promise<Settled> {
  const ownWaitMs = FIRST_WAIT_MS * 2 ** retry
  try {
    const answer = await sent
    const finish = (): Answer => answer
    if (!PASSING.has(answer.status)) return { waitMs: undefined, finish }
    return { waitMs: toWaitMs(answer.readHeaders()['retry-after']) ?? ownWaitMs, finish }
  } catch (error) {
    const finish = (): never => {
      throw error
    }
    const isPassing = error instanceof ServiceError && PASSING.has(error.code)
    return { waitMs: isPassing ? ownWaitMs : undefined, finish }
  }
}

/**
 * Returns the milliseconds that a `Retry-After` stands for: seconds, or a date.
 * @see RFC 9110 §10.2.3
 */
function toWaitMs(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined
  const waitMs = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1_000
    : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs)
}

/** @throws the reason of the signal */
function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort)
  })
}
