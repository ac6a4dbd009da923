import type { Server } from 'socket.io'
import type { AnyApplication, Application } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import { withDefaults } from '../../core/options/option-check.ts'
import { addScopePart } from '../scope-parts.ts'
import { SocketHub } from './socket-hub.ts'
import type { SocketArguments } from './socketio-options.ts'
import { readArguments } from './socketio-options.ts'

/**
 * Serves the services of an application over Socket.IO, as clients of Feathers call them, and sends events to channels.
 * `app.configure(socketio({ cors: { origin: 'https://app.example' } }))`
 * @param given a port of a separate server, options, and what is called with the server of Socket.IO. Default of the
 *   port: that of the server of the application
 * @throws {TypeError} an argument is not valid; when configured, a second time
 */
export function socketio(...given: SocketArguments): (app: AnyApplication) => void {
  const configure = createConfigurator('socketio', given[0], (app: AnyApplication) => {
    const hub = new SocketHub(app as unknown as Application, options)
    addScopePart(app, {
      prepare: (server, _app, { json }) => {
        const maxHttpBufferSize = json?.bodyLimit ?? Number(server.initialConfig.bodyLimit)
        const limited = withDefaults({ maxHttpBufferSize }, options)
        return hub.open(server, { port, options: limited, callback })
      },
      addAfter: (server, transport) => hub.serve(server, transport),
    })
  })
  const { port, options, callback } = readArguments(given)
  return configure
}

declare module '../../core/app.ts' {
  // The parameters have to be those of the class.
  interface Application<Services, Settings> {
    /** The server of Socket.IO. There once the application is served. */
    readonly io: Server
  }
}
