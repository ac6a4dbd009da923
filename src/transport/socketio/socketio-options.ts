import type { Server, ServerOptions } from 'socket.io'
import type { EventBus } from '../../core/events/event-bus.ts'
import { checkOptionNames } from '../../core/options/option-check.ts'
import { BUS_RULE } from '../shared-bus.ts'

/** Options of `socketio()`: those of the server of Socket.IO, and four of Remex. */
export interface SocketioOptions extends Partial<Omit<ServerOptions, 'connectionStateRecovery'>> {
  /**
   * Carries events to the sockets of other processes: `mongoEvents()`, the same as in `realtime({ bus })`. Default: `null`,
   * events of this process alone.
   */
  readonly bus?: EventBus | null
  /**
   * Whether an event is sent only to connections for which `find` of the service would show its record. It takes a
   * call of the hooks of `find` for each of them. Default: `false`.
   */
  readonly checkReads?: boolean
  /** How many calls of one connection may run at the same time. Default: 100. */
  readonly maxCalls?: number
  /** How many bytes may wait for a client that does not read, before its connection is closed. Default: 16 MiB. */
  readonly maxWaitingBytes?: number
}

/** Called once with the server of Socket.IO, to add middleware to it. */
export type SocketCallback = (io: Server) => void

/** The options of Socket.IO and of the engine below it. */
const SERVER_OPTIONS: readonly string[] = [
  ...['path', 'serveClient', 'connectTimeout', 'adapter', 'parser', 'cors', 'cookie', 'transports'],
  ...['pingTimeout', 'pingInterval', 'upgradeTimeout', 'maxHttpBufferSize', 'allowRequest'],
  ...['allowUpgrades', 'allowEIO3', 'perMessageDeflate', 'httpCompression', 'wsEngine'],
  ...['initialPacket', 'cleanupEmptyChildNamespaces'],
  ...['destroyUpgrade', 'destroyUpgradeTimeout', 'addTrailingSlash'],
]

const LIMITS = ['maxCalls', 'maxWaitingBytes'] as const

/** The arguments of `socketio()`: each may be left out. */
export type SocketArguments = readonly (number | SocketioOptions | SocketCallback | undefined)[]

interface Given {
  readonly port: number | undefined
  readonly options: SocketioOptions
  readonly callback: SocketCallback
}

/** @throws {TypeError} an argument is of another type, or an option is not known */
export function readArguments(given: SocketArguments): Given {
  const rest = given.filter((one) => one !== undefined)
  const port = typeof rest[0] === 'number' ? (rest.shift() as number) : undefined
  const options = typeof rest[0] === 'object' ? (rest.shift() as SocketioOptions) : {}
  const callback =
    typeof rest[0] === 'function' ? (rest.shift() as SocketCallback) : () => undefined
  if (rest.length > 0) throw new TypeError('socketio() takes (port, options, callback)')
  if ('connectionStateRecovery' in options) {
    throw new TypeError(
      "socketio(): the option 'connectionStateRecovery' is not supported: it skips the login of a connection",
    )
  }
  checkOptionNames('socketio()', options, [...SERVER_OPTIONS, 'bus', 'checkReads', ...LIMITS])
  const { bus = null, checkReads } = options
  if (!BUS_RULE.isValid(bus)) {
    throw new TypeError(`socketio(): the option 'bus' must be ${BUS_RULE.expected}`)
  }
  if (checkReads !== undefined && typeof checkReads !== 'boolean') {
    throw new TypeError("socketio(): the option 'checkReads' must be true or false")
  }
  for (const name of LIMITS) {
    const { [name]: limit } = options
    if (limit !== undefined && !(Number.isInteger(limit) && limit > 0)) {
      throw new TypeError(`socketio(): the option '${name}' must be an integer from 1 on`)
    }
  }
  return { port, options, callback }
}
