import type { MongoClientOptions } from 'mongodb'
import { MongoClient } from 'mongodb'

import { Unavailable } from '../../core/errors/index.ts'
import { withDefaults } from '../../core/options/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'

/** Options of {@link connectMongoDB}: those of the driver. They win over the URL. */
export type ConnectOptions = Omit<MongoClientOptions, 'timeoutMS'>

/**
 * How long the driver tries, in milliseconds: by its own defaults a call waits 30 seconds for a
 * database that is gone, and forever for one that hangs. There is no limit for a socket: it would
 * cut off slow queries too. The heartbeat finds a server that hangs, and ends its connections.
 */
const BUDGETS = {
  connectTimeoutMS: 1_000,
  heartbeatFrequencyMS: 1_000,
  // As many as the pool holds. With the driver's 2, the other calls of a burst wait for several handshakes
  // in a row, and their wait counts as that for an exhausted pool.
  maxConnecting: 50,
  maxPoolSize: 50,
  serverSelectionTimeoutMS: 1_500,
  waitQueueTimeoutMS: 2_000,
} as const

/**
 * Resolves to a client of the driver that is connected, and that answers a call within 3.5 seconds
 * when the database is gone or hangs, unless the URL or the options give it more time.
 * @throws {Unavailable} the database can not be reached, or refuses the user; the `cause` says why,
 *   for the log. A later call may succeed
 * @throws {TypeError} `timeoutMS`, or a URL that the driver does not take
 * @throws {Error} of the driver: an option that it does not take
 */
export async function connectMongoDB(
  url: string,
  options: ConnectOptions = {},
): Promise<MongoClient> {
  const client = createClient(url, options)
  try {
    return await client.connect()
  } catch (error) {
    // Closed, it keeps no socket and no timer.
    await client.close().catch(() => undefined)
    throw new Unavailable('The database is not available', null, { cause: error })
  }
}

function createClient(url: string, options: ConnectOptions): MongoClient {
  if (!isNonEmptyString(url)) {
    throw new TypeError('connectMongoDB: the URL must be a non-empty string')
  }
  const given = listGiven(url, options)
  if (given.has('timeoutms')) {
    throw new TypeError(
      'connectMongoDB: driver 7 ignores timeoutMS; set serverSelectionTimeoutMS and waitQueueTimeoutMS, and maxTimeMS for each call',
    )
  }
  const budgets = Object.entries({ ...DRIVER_INFO, ...BUDGETS, ...createWaits(given) })
  const defaults = budgets.filter(([name]) => !given.has(name.toLowerCase()))
  // The driver takes `undefined` for an option that is not given, and would not see the budget.
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
const MAX_TIMER_MS = 2 ** 31 - 1

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

/** Returns the options that are set, by their names in lower case: the driver reads them in any. */
function listGiven(url: string, options: ConnectOptions): ReadonlyMap<string, unknown> {
  const mark = url.indexOf('?')
  const inUrl = mark === -1 ? [] : [...new URLSearchParams(url.slice(mark))]
  const inOptions = Object.entries(options).filter(([, value]) => value != null)
  return new Map([...inUrl, ...inOptions].map(([name, value]) => [name.toLowerCase(), value]))
}

/**
 * Returns the driver's error where the options are at fault. That of a URL may quote a part of the
 * password: one with a `?` in it looks like an option to the driver, one without a host like a host.
 */
function toSafeError(error: unknown, url: string, options: ConnectOptions): unknown {
  const hasUser = /^mongodb(?:\+srv)?:\/\/[^/?]*:(?!\d+(?:[,/?]|$))/i.test(url) || url.includes('@')
  if (!hasUser) return error
  try {
    new MongoClient('mongodb://127.0.0.1', options)
  } catch (fault) {
    return fault
  }
  return new TypeError(
    'connectMongoDB: the driver does not take the URL: user and password must be percent-encoded, and the options must be among its own',
  )
}
