import type { Server } from 'socket.io'
import type { AnyApplication, Application } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import { withDefaults } from '../../core/options/option-check.ts'
import { addScopePart } from '../scope-parts.ts'
import { SocketHub } from './socket-hub.ts'
import type { SocketArguments } from './socketio-options.ts'
import { readArguments } from './socketio-options.ts'

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
  // The type parameters must be those of the class.
  interface Application<Services, Settings> {
    /** The server of Socket.IO, once the application is served. */
    readonly io: Server
  }
}
