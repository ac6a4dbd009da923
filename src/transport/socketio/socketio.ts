import type { FastifyInstance } from 'fastify'
import type { Server, ServerOptions } from 'socket.io'
import { onLoginEnd } from '../../auth/login-end.ts'
import { SocketLimit } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { Emitter } from '../../core/events/emitter.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { AnyApplication, Application, HookContext, Params } from '../../core/index.ts'
import { toServiceError } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { addScopePart } from '../scope-parts.ts'
import { BUS_RULE } from '../shared-bus.ts'
import { hasEnded } from './channels.ts'
import type { Connection, HubOptions, ServiceSocket } from './connection.ts'
import { Client, Hub } from './connection.ts'
import { checkLogin, endLogins, findUserChanges, followUser } from './logins.ts'
import type { ServiceEvent } from './publishing.ts'
import { publishEvent } from './publishing.ts'
import { joinProcesses } from './shared-events.ts'
import { createCalls } from './socket-call.ts'
import { addPort, serveSocketIO } from './socket-server.ts'

/**
 * Options of `socketio()`: those of the server of Socket.IO, and four more. A custom `parser` must limit the number of
 * arguments itself.
 */
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

const NOT_SERVED =
  'socketio() needs the limits and logins of REST: add app.configure(rest()), before or after it'

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
    const hub = new Hub(app as unknown as Application, options)
    followServices(hub)
    followConnections(hub)
    addScopePart(app, {
      prepare: async (server, _app, { json }) => {
        // An application may be served below several prefixes.
        if (Object.hasOwn(app, 'io')) return
        const maxHttpBufferSize = json?.bodyLimit ?? Number(server.initialConfig.bodyLimit)
        const io = await serveSocketIO(server, withDefaults({ maxHttpBufferSize }, options))
        openHub(hub, server, io)
        callback.call(app, io)
        if (port !== undefined) addPort(server, port)
      },
      addAfter: (_server, transport) => {
        if (hub.transport !== undefined) return
        hub.transport = transport
        hub.take = createCalls(hub)
      },
    })
  })
  const { port, options, callback } = readArguments(given)
  return configure
}

/** Publishes the events of services, and follows the changes of users that they report. */
function followServices(hub: Hub): void {
  const { app, channels, options } = hub
  const others = options.bus ? joinProcesses(hub, options.bus) : null
  const follow = (path: string, entry: ServiceEvent['entry']): void => {
    const { service } = entry
    channels.addService(entry)
    if (options.checkReads && isFollowable(service)) service.isFollowed = true
    for (const event of entry.options.serviceEvents) {
      const emitter = service as object as Emitter
      emitter.on(event, (data: unknown, context?: HookContext) => {
        const emitted = { entry, path, event, data, context }
        void publishEvent(hub, emitted)
        const changes = findUserChanges(app, emitted)
        for (const change of changes) followUser(hub, change)
        others?.share(emitted, changes)
      })
    }
  }
  for (const [path, entry] of app.entries) follow(path, entry)
  app.observe((change, path, entry) => {
    if (change === 'added') follow(path, entry)
  })
  onLoginEnd(app, (end) => {
    endLogins(hub, end)
    others?.shareEnd(end)
  })
}

/** Follows what the application emits about connections. */
function followConnections(hub: Hub): void {
  const { app, channels, clients } = hub
  // Also emitted to end a connection, for example when a token expires.
  app.on('disconnect', (connection: Connection) => {
    if (clients.has(connection)) hub.leave(connection)
    else channels.leaveAll(connection)
  })
  app.on('login', (_result: unknown, { connection }: Params, { service }: HookContext) => {
    const client = clients.get(connection ?? {})
    if (client !== undefined) return checkLogin(hub, service as never, client)
    return connection && hasEnded(connection) ? hub.forgetLogin(connection) : undefined
  })
  app.on('logout', (_result: unknown, { connection }: { readonly connection?: object }) => {
    if (connection) channels.leaveAll(connection)
  })
  app.hooks({
    setup: async ({ server }: { readonly server?: unknown }, next: () => Promise<void>) => {
      // Without a server, the services are set up for internal calls only.
      if (server !== undefined && hub.transport === undefined) throw new TypeError(NOT_SERVED)
      await next()
    },
  })
}

/** Lets the clients of a server of Socket.IO log in and make calls. */
function openHub(hub: Hub, server: FastifyInstance, io: Server): void {
  const { app } = hub
  Object.defineProperty(app, 'io', { value: io, configurable: true })
  io.use((socket, next) => {
    const fail = (error: unknown): void => {
      next(new Error('Internal error'))
      logListenerError(app, error, 'connection')
    }
    // Later middleware may throw too, and even the logger may: neither must end the process.
    void connect(hub, socket)
      .then(next)
      .catch(fail)
      .catch(() => undefined)
  })
  io.on('connection', (socket: ServiceSocket) => admit(hub, socket))
  server.addHook('preClose', async () => {
    // Running calls get their responses first.
    await hub.close()
    await io.close()
  })
}

/** Logs a socket in. Resolves to the error that rejects it. Later middleware may still reject it. */
async function connect(hub: Hub, socket: ServiceSocket): Promise<Error | undefined> {
  const client = new Client(socket, hub.changes)
  const { connection, handshake } = client
  const { client: previous, request, reply } = handshake
  try {
    // Otherwise one WebSocket could run any number of logins at the same time.
    if (previous?.isLoggingIn)
      throw new SocketLimit('This connection is logging in already. Wait for the answer')
    handshake.client = client
    hub.clients.set(connection, client)
    if (previous !== undefined) hub.leave(previous.connection)
    // Socket.IO emits no `disconnect` for a socket that was never connected.
    else socket.conn.once('close', () => hub.leave(handshake.client?.connection))
    await client.logIn(hub.transport)
    return undefined
  } catch (thrown) {
    hub.leave(connection)
    reply.hook = null
    const data = hub.transport.errors.tell(toServiceError(thrown), thrown, request, reply)
    return Object.assign(new Error(data.message), { data })
  } finally {
    client.isLoggingIn = false
  }
}

/** Takes the calls of a socket that all middleware has accepted. */
function admit(hub: Hub, socket: ServiceSocket): void {
  const { app, clients } = hub
  const { feathers: connection = {} } = socket
  const client = clients.get(connection)
  // Its login may have ended since the handshake.
  if (client === undefined) return void socket.disconnect()
  client.isAdmitted = true
  socket.once('disconnect', () => {
    // If the server ended the connection, `disconnect` was emitted before.
    if (clients.has(connection)) app.emit('disconnect', connection)
  })
  socket.onAny((name: string, ...values: unknown[]) => {
    // The application may listen to this event itself, and Socket.IO listens to `error` once.
    if (socket.listenerCount(name) === (name === 'error' ? 1 : 0)) hub.take(client, name, values)
  })
  app.emit('connection', connection)
}

/** @throws {TypeError} an argument has another type, or an option is unknown */
function readArguments(given: readonly unknown[]) {
  const rest = given.filter((one) => one !== undefined)
  const take = (type: string): unknown => (typeof rest[0] === type ? rest.shift() : undefined)
  const port = take('number') as number | undefined
  const taken = take('object')
  const options = (taken === undefined ? {} : taken) as SocketioOptions
  const callback = (take('function') ?? (() => undefined)) as SocketCallback
  if (rest.length > 0) throw new ArgumentError('socketio() takes (port, options, callback)')
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536)) {
    throw new ArgumentError(`socketio(): the port ${port} must be a whole number from 0 to 65535`)
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
