import type { Server, ServerOptions } from 'socket.io'
import type { AnyApplication, Application } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { addScopePart } from '../scope-parts.ts'
import { BUS_RULE } from '../shared-bus.ts'
import type { HubOptions } from './connection.ts'
import { SocketHub } from './socket-hub.ts'
import { addPort, serveSocketIO } from './socket-server.ts'

/** Options of `socketio()`: those of the server of Socket.IO, and four more. */
export interface SocketioOptions
  extends Partial<Omit<ServerOptions, 'connectionStateRecovery'>>,
    HubOptions {}

/** Called once with the server of Socket.IO, for example to add middleware. */
export type SocketCallback = (io: Server) => void

/** The arguments of `socketio()`, all of them optional. */
type SocketArguments =
  | [port: number, options?: SocketioOptions | undefined, callback?: SocketCallback | undefined]
  | [port: number, callback: SocketCallback]
  | [options?: SocketioOptions | undefined, callback?: SocketCallback | undefined]
  | [callback: SocketCallback]

/** The options of Socket.IO and its engine, which check their values themselves. */
const SERVER_OPTIONS: readonly string[] = [
  ...['path', 'serveClient', 'connectTimeout', 'adapter', 'parser', 'cors', 'cookie', 'transports'],
  ...['pingTimeout', 'pingInterval', 'upgradeTimeout', 'maxHttpBufferSize', 'allowRequest'],
  ...['allowUpgrades', 'allowEIO3', 'perMessageDeflate', 'httpCompression', 'wsEngine'],
  ...['initialPacket', 'cleanupEmptyChildNamespaces'],
  ...['destroyUpgrade', 'destroyUpgradeTimeout', 'addTrailingSlash'],
]

const RULES: OptionRules = {
  ...Object.fromEntries(
    SERVER_OPTIONS.map((name) => [name, { expected: '', isValid: () => true }]),
  ),
  bus: BUS_RULE,
  checkReads: OPTION.boolean,
  maxCalls: OPTION.positiveInteger,
  maxWaitingBytes: OPTION.positiveInteger,
  connectionStateRecovery: {
    expected: 'left out, because it skips the login of connections',
    isValid: () => false,
  },
}

/**
 * Serves the services of an application over Socket.IO, for clients of Feathers, and sends their events to channels:
 * `app.configure(socketio({ cors: { origin: 'https://app.example' } }))`.
 * @param given a second port, the options, and a function that is called with the server of Socket.IO
 * @throws {TypeError} an argument is not valid, or the application has `socketio()` already
 */
export function socketio(...given: SocketArguments): (app: AnyApplication) => void {
  const configure = createConfigurator('socketio', given[0], (app: AnyApplication) => {
    const hub = new SocketHub(app as unknown as Application, options)
    addScopePart(app, {
      prepare: async (server, _app, { json }) => {
        // An application may be served below several prefixes.
        if (Object.hasOwn(app, 'io')) return
        const maxHttpBufferSize = json?.bodyLimit ?? Number(server.initialConfig.bodyLimit)
        const io = await serveSocketIO(server, withDefaults({ maxHttpBufferSize }, options))
        hub.open(server, io)
        callback.call(app, io)
        if (port !== undefined) addPort(server, port)
      },
      addAfter: (_server, transport) => hub.serve(transport),
    })
  })
  const { port, options, callback } = readArguments(given)
  return configure
}

/** @throws {TypeError} an argument has another type, or an option is unknown */
function readArguments(given: readonly unknown[]) {
  const rest = given.filter((one) => one !== undefined)
  const take = (type: string): unknown => (typeof rest[0] === type ? rest.shift() : undefined)
  const port = take('number') as number | undefined
  const taken = take('object')
  const options = (taken === undefined ? {} : taken) as SocketioOptions
  const callback = (take('function') ?? (() => undefined)) as SocketCallback
  if (rest.length > 0) throw new TypeError('socketio() takes (port, options, callback)')
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536)) {
    throw new TypeError(`socketio(): the port ${port} must be a whole number from 0 to 65535`)
  }
  checkOptions('socketio()', options, RULES)
  return { port, options, callback }
}

declare module '../../core/app.ts' {
  // The type parameters must be those of the class.
  interface Application<Services, Settings> {
    /** The server of Socket.IO, once the application is served. */
    readonly io: Server
  }
}
