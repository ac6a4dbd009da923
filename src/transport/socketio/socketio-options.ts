import type { Server, ServerOptions } from 'socket.io'
import type { EventBus } from '../../core/events/event-bus.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { BUS_RULE } from '../shared-bus.ts'

/** Options of `socketio()`: those of the server of Socket.IO, and four more. */
export interface SocketioOptions extends Partial<Omit<ServerOptions, 'connectionStateRecovery'>> {
  /**
   * Carries events to the sockets of other processes: `mongoEvents()`, the same as in `realtime({ bus })`. Default: `null`,
   * only events of this process.
   */
  readonly bus?: EventBus | null
  /**
   * Whether an event is sent only to connections for which `find` of the service would show its record. The hooks of
   * `find` run once for each of them. Default: `false`.
   */
  readonly checkReads?: boolean
  /** How many calls one connection may run at the same time. Default: 100. */
  readonly maxCalls?: number
  /** How many bytes may wait for a client that does not read before its connection is closed. Default: 16 MiB. */
  readonly maxWaitingBytes?: number
}

/** Called once with the server of Socket.IO, for example to add middleware. */
export type SocketCallback = (io: Server) => void

/** The options of Socket.IO and its engine, which check their values themselves. */
const SERVER_OPTIONS: readonly string[] = [
  ...['path', 'serveClient', 'connectTimeout', 'adapter', 'parser', 'cors', 'cookie', 'transports'],
  ...['pingTimeout', 'pingInterval', 'upgradeTimeout', 'maxHttpBufferSize', 'allowRequest'],
  ...['allowUpgrades', 'allowEIO3', 'perMessageDeflate', 'httpCompression', 'wsEngine'],
  ...['initialPacket', 'cleanupEmptyChildNamespaces'],
  ...['destroyUpgrade', 'destroyUpgradeTimeout', 'addTrailingSlash'],
]

const ANYTHING: OptionRule = { expected: 'anything', isValid: () => true }

const RULES: OptionRules = {
  ...Object.fromEntries(SERVER_OPTIONS.map((name) => [name, ANYTHING])),
  bus: BUS_RULE,
  checkReads: OPTION.boolean,
  maxCalls: OPTION.positiveInteger,
  maxWaitingBytes: OPTION.positiveInteger,
  connectionStateRecovery: {
    expected: 'left out, because it skips the login of connections',
    isValid: () => false,
  },
}

/** The arguments of `socketio()`, all of them optional. */
export type SocketArguments =
  | [port: number, options?: SocketioOptions | undefined, callback?: SocketCallback | undefined]
  | [port: number, callback: SocketCallback]
  | [options?: SocketioOptions | undefined, callback?: SocketCallback | undefined]
  | [callback: SocketCallback]

export interface Given {
  readonly port: number | undefined
  readonly options: SocketioOptions
  readonly callback: SocketCallback
}

/**
 * Returns the arguments of `socketio()`.
 * @throws {TypeError} an argument has another type, or an option is unknown
 */
export function readArguments(given: readonly unknown[]): Given {
  const rest = given.filter((one) => one !== undefined)
  const take = (type: string): unknown => (typeof rest[0] === type ? rest.shift() : undefined)
  const [port, options = {}, callback = () => undefined] = ['number', 'object', 'function'].map(
    take,
  )
  if (rest.length > 0) throw new TypeError('socketio() takes (port, options, callback)')
  const isPort = Number.isInteger(port) && Number(port) >= 0 && Number(port) < 65_536
  if (port !== undefined && !isPort) {
    throw new TypeError(`socketio(): the port ${port} must be a whole number from 0 to 65535`)
  }
  checkOptions('socketio()', options, RULES)
  return { port, options, callback } as Given
}
