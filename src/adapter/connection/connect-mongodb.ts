import type { MongoClientOptions } from 'mongodb'
import { MongoClient } from 'mongodb'
import { DatabaseUnavailable } from '../../core/errors/coded-errors.ts'
import { OptionError } from '../../core/errors/setup-errors.ts'
import { withDefaults } from '../../core/options/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'

/** Options of {@link connectMongoDB}: those of the driver. They override the URL. */
export type ConnectOptions = Omit<MongoClientOptions, 'timeoutMS'>

/**
 * How long the driver tries, in milliseconds. By its own defaults, a call waits 30 seconds for a database
 * that is gone, and forever for one that hangs. Sockets have no timeout: it would also cut off slow queries.
 * The heartbeat detects a hanging server and closes its connections.
 */
const BUDGETS = {
  connectTimeoutMS: 1_000,
  heartbeatFrequencyMS: 1_000,
  // As many as the pool holds. With the driver's 2, most calls of a burst wait for several handshakes in a
  // row, and that wait counts as one for an exhausted pool.
  maxConnecting: 50,
  maxPoolSize: 50,
  serverSelectionTimeoutMS: 1_500,
  waitQueueTimeoutMS: 2_000,
} as const

/**
 * Resolves to a connected client of the driver. If the database is gone or hangs, its calls fail within 3.5
 * seconds, unless the URL or the options allow more time.
 * @throws {Unavailable} the database cannot be reached, or rejects the user; the `cause` says why, for the
 *   log. A later call may succeed
 * @throws {TypeError} `timeoutMS` is set, or the driver rejects the URL
 * @throws {Error} the driver rejects an option
 */
export async function connectMongoDB(
  url: string,
  options: ConnectOptions = {},
): Promise<MongoClient> {
  const client = createClient(url, options)
  try {
    return await client.connect()
  } catch (error) {
    // A closed client keeps no socket and no timer.
    await client.close().catch(() => undefined)
    throw new DatabaseUnavailable('The database is not available', null, { cause: error })
  }
}

function createClient(url: string, options: ConnectOptions): MongoClient {
  if (!isNonEmptyString(url)) {
    throw new OptionError('connectMongoDB: the URL must be a non-empty string')
  }
  const given = listGiven(url, options)
  if (given.has('timeoutms')) {
    throw new OptionError(
      'connectMongoDB: driver 7 ignores timeoutMS; set serverSelectionTimeoutMS and waitQueueTimeoutMS, and maxTimeMS for each call',
    )
  }
  const budgets = Object.entries({ ...DRIVER_INFO, ...BUDGETS, ...createWaits(given) })
  const defaults = budgets.filter(([name]) => !given.has(name.toLowerCase()))
  // The driver would use an option that is `undefined`, instead of our budget.
  const all = withDefaults<MongoClientOptions>(Object.fromEntries(defaults), options)
  try {
    return new MongoClient(url, all)
  } catch (error) {
    throw toSafeError(error, url, options)
  }
}

/** MongoDB's logs and profiles show it for each connection. A test compares it with package.json. */
const DRIVER_INFO = { driverInfo: { name: 'Remex', version: '0.1.0' } } as const

/** The longest time of a timer, in ms. Node fires a longer one at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1

/**
 * Returns how long a call waits for a server and for a connection, if the caller gives more time to
 * connect. Both waits include connecting: the driver applies `connectTimeoutMS` to the socket, and again to
 * the handshake.
 */
function createWaits(given: ReadonlyMap<string, unknown>): Partial<MongoClientOptions> {
  const connectMs = Number(given.get('connecttimeoutms'))
  if (!(connectMs > BUDGETS.connectTimeoutMS)) return {}
  const waitMs = Math.min(2 * connectMs, MAX_TIMER_MS)
  return { serverSelectionTimeoutMS: waitMs, waitQueueTimeoutMS: waitMs }
}

/** Returns the given options by lower-case name: the driver ignores case. */
function listGiven(url: string, options: ConnectOptions): ReadonlyMap<string, unknown> {
  const mark = url.indexOf('?')
  const inUrl = mark === -1 ? [] : [...new URLSearchParams(url.slice(mark))]
  const inOptions = Object.entries(options).filter(([, value]) => value != null)
  return new Map([...inUrl, ...inOptions].map(([name, value]) => [name.toLowerCase(), value]))
}

/**
 * Returns the driver's error, or a safe one if a URL with a password is at fault: the driver's message may
 * quote part of the password, which it can mistake for an option (after a `?`) or a host.
 */
function toSafeError(error: unknown, url: string, options: ConnectOptions): unknown {
  const hasUser = /^mongodb(?:\+srv)?:\/\/[^/?]*:(?!\d+(?:[,/?]|$))/i.test(url) || url.includes('@')
  if (!hasUser) return error
  try {
    new MongoClient('mongodb://127.0.0.1', options)
  } catch (fault) {
    return fault
  }
  return new OptionError(
    'connectMongoDB: the driver does not take the URL: user and password must be percent-encoded, and the options must be among its own',
  )
}
