import type { Server } from 'socket.io'
import type { AnyApplication, Application } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import { addScopePart } from '../scope-parts.ts'
import { addChannels } from './channels.ts'
import { SocketHub } from './socket-hub.ts'
import type { SocketArguments, SocketCallback, SocketioOptions } from './socketio-options.ts'
import { readArguments } from './socketio-options.ts'

const MAX_WAITING_BYTES = 16 * 2 ** 20

/**
 * Serves the services of an application over Socket.IO, as clients of Feathers call them, and sends events to channels.
 * `app.configure(socketio({ cors: { origin: 'https://app.example' } }))`
 * @param port of a separate server. Default: that of the server of the application
 * @throws {TypeError} an argument is not valid; when configured, a second time
 */
export function socketio(
  port: number,
  options?: SocketioOptions,
  callback?: SocketCallback,
): SocketConfigurator
export function socketio(port: number, callback?: SocketCallback): SocketConfigurator
export function socketio(options?: SocketioOptions, callback?: SocketCallback): SocketConfigurator
export function socketio(callback: SocketCallback): SocketConfigurator
export function socketio(...given: SocketArguments): SocketConfigurator {
  const configure = createConfigurator('socketio', given[0], (app: AnyApplication) => {
    const { port, options, callback } = readArguments(given)
    const { bus = null, checkReads = false, maxCalls = 100, ...others } = options
    const { maxWaitingBytes = MAX_WAITING_BYTES, ...serverOptions } = others
    const channels = addChannels(app)
    const untyped = app as unknown as Application
    const hub = new SocketHub(untyped, channels, { bus, checkReads, maxCalls, maxWaitingBytes })
    addScopePart(app, {
      prepare: async (server) => hub.open(server, serverOptions, port, callback),
      addAfter: (server, transport) => hub.serve(server, transport),
    })
  })
  readArguments(given)
  return configure
}

type SocketConfigurator = (app: AnyApplication) => void

declare module '../../core/app.ts' {
  // The parameters have to be those of the class.
  interface Application<Services, Settings> {
    /** The server of Socket.IO. There once the application is served. */
    readonly io: Server
  }
}
