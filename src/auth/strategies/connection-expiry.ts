/**
 * The longest delay of a timer: Node fires longer ones at once, so they are waited for in steps.
 */
const MAX_WAIT_MS = 2 ** 31 - 1

/** By connection: these belong to whoever made them, and nothing is to be added to them. */
const TIMERS = new WeakMap<object, NodeJS.Timeout>()

/**
 * Calls back when the token of a connection has expired, unless the connection is watched
 * anew before.
 * @param expiresAt milliseconds since the epoch, `null` to watch no longer
 */
export function watchExpiry(
  connection: object,
  expiresAt: number | null,
  onExpiry: () => void = () => undefined,
): void {
  clearTimeout(TIMERS.get(connection))
  TIMERS.delete(connection)
  if (expiresAt === null) return
  const waitMs = Math.max(0, expiresAt - Date.now())
  const timer = setTimeout(
    () => {
      if (waitMs > MAX_WAIT_MS) watchExpiry(connection, expiresAt, onExpiry)
      else onExpiry()
    },
    Math.min(waitMs, MAX_WAIT_MS),
  )
  TIMERS.set(connection, timer.unref())
}
