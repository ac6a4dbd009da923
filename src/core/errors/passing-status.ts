/** Whether a status says that a server is away for now, or the one behind it. */
export function isAway(status: number): boolean {
  return status >= 502 && status <= 504
}

/** Whether a later attempt may go better: the server has a fault, was too slow, or got too many requests. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}
