import { isAway } from '../../core/errors/error-classes.ts'
import { ServiceError } from '../../core/errors/index.ts'
import type { Answer } from '../connection.ts'

/** The status for too many requests. */
const TOO_MANY = 429

/** Another write of the same key or the same record is in progress. Retried only with `Retry-After`. */
const CONFLICT = 409

/** The first wait if the server names none; it doubles each time. */
const FIRST_WAIT_MS = 250

/** The longest wait: if the server asks for more, the caller gets the response at once. */
const MAX_WAIT_MS = 30_000

/** The random share added to a wait, so that clients rejected together do not retry together. */
const JITTER = 0.25

interface RetryLimits {
  /** The maximum number of retries. */
  readonly retries: number
  /** Ends the retries. */
  readonly signal: AbortSignal | undefined
  /** Whether a response that breaks off must not be requested again. */
  readonly isExport?: boolean
}

/**
 * Resolves to the response to a read, or to a write with a key. The request is repeated while the server cannot
 * respond, at the time that its `Retry-After` names.
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

/** Resolves to the time to wait; `Infinity` if another attempt would change nothing. */
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
    // An export breaks off because of an error of the server, which would recur.
    const isPassing = !isExport && error instanceof ServiceError && isWorthRetry(error.code)
    return isPassing ? ownWaitMs : Number.POSITIVE_INFINITY
  }
}

/** Returns whether the server may respond successfully a little later. */
function isWorthRetry(status: number): boolean {
  return isAway(status) || status === TOO_MANY
}

/**
 * Returns the milliseconds that a `Retry-After` header means: seconds or a date.
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
 * @param signal of this call only, so its listener need not be removed
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
