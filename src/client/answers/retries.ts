import { isAway } from '../../core/errors/error-classes.ts'
import { ServiceError } from '../../core/errors/index.ts'
import type { Answer } from '../connection.ts'

/** Stands for too many requests. */
const TOO_MANY = 429

/** Stands for a write of the same key, or of the same record, that is in the way: only with `Retry-After`. */
const CONFLICT = 409

/** How long to wait where the server does not say, doubled each time. */
const FIRST_WAIT_MS = 250

/** The longest wait: a caller whom the server tells to wait longer gets the answer at once. */
const MAX_WAIT_MS = 30_000

/** The share of a wait that is added by chance: clients that were refused together come apart. */
const JITTER = 0.25

interface RetryLimits {
  /** How many times a request is sent again at most. */
  readonly retries: number
  /** Ends the retries. */
  readonly signal: AbortSignal | undefined
  /** Whether an answer that breaks off is not asked for again. */
  readonly isExport?: boolean
}

/**
 * Resolves to the answer to a read, or to a write with a key, which is sent again while the server can not
 * answer, at the time that its `Retry-After` names.
 */
export async function sendWithRetries(
  send: () => Promise<Answer>,
  limits: RetryLimits,
): Promise<Answer> {
  for (let retry = 0; retry < limits.retries; retry += 1) {
    const sent = send()
    const waitMs = await findWait(sent, FIRST_WAIT_MS * 2 ** retry, limits)
    if (waitMs > MAX_WAIT_MS) return sent
    await wait(waitMs * (1 + JITTER * Math.random()), limits.signal)
  }
  return send()
}

/** Resolves to how long to wait; `Infinity` where another attempt would change nothing. */
async function findWait(
  sent: Promise<Answer>,
  ownWaitMs: number,
  { isExport }: RetryLimits,
): Promise<number> {
  try {
    const answer = await sent
    const isPassing = isWorthRetry(answer.status)
    if (!isPassing && answer.status !== CONFLICT) return Number.POSITIVE_INFINITY
    const waitMs = toWaitMs(answer.readHeaders()['retry-after'])
    return waitMs ?? (isPassing ? ownWaitMs : Number.POSITIVE_INFINITY)
  } catch (error) {
    // An export breaks off by an error of the server, which would come again.
    const isPassing = !isExport && error instanceof ServiceError && isWorthRetry(error.code)
    return isPassing ? ownWaitMs : Number.POSITIVE_INFINITY
  }
}

/** Whether the server may have an answer a little later. */
function isWorthRetry(status: number): boolean {
  return isAway(status) || status === TOO_MANY
}

/**
 * Returns the milliseconds that a `Retry-After` stands for: seconds, or a date.
 * @see RFC 9110 §10.2.3
 */
export function toWaitMs(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined
  const waitMs = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1_000
    : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs)
}

/**
 * @param signal of this call alone: nobody has to stop listening
 * @throws the reason of the signal
 */
function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
