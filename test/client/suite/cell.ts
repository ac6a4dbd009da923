import type { Test } from 'tap'
import type { ConnectionOptions } from '../../../src/client/index.ts'
import type { TestScope } from '../../support/http.ts'
import type { SharedApp, SharedConnection, SharedRemote, TestedClient } from './clients.ts'
import { CLIENTS } from './clients.ts'
import { expectationsOf } from './differences.ts'
import type { Expectations } from './expectations.ts'
import type { ServerName } from './servers.ts'
import { TODO_METHODS } from './services.ts'

/** Where the cases of a topic are added. */
export interface Cases {
  test(title: string, run: (t: Test) => unknown): unknown
}

/** A server and a client that the suite runs with. */
export interface Cell {
  /** The URL that the services are below. */
  readonly url: string
  readonly client: TestedClient
  /** What is asserted, with the differences of this server and this client. */
  readonly expected: Expectations
  /** Returns a connection to the server. */
  connect(options?: ConnectionOptions): SharedConnection
  /** Returns an application whose services are those of the server. */
  createApp(options?: ConnectionOptions): SharedApp
  /** Returns a service of such an application. */
  service(path: string): SharedRemote
  /** Returns a service without an application, so without hooks and events. */
  remote(path: string, options?: ConnectionOptions): SharedRemote
}

/** Returns a cell. Its connections are closed at the end of the test. */
export function createCell(t: TestScope, server: ServerName, name: string, url: string): Cell {
  const tested = CLIENTS[name]
  if (tested === undefined) throw new Error(`There is no client '${name}'`)
  const client: TestedClient = {
    ...tested,
    connect(...given) {
      const connection = tested.connect(...given)
      t.teardown(() => connection.close?.())
      return connection
    },
  }
  const connect = (options: ConnectionOptions = {}) => client.connect(url, options)
  const createApp = (options?: ConnectionOptions) => {
    const connection = connect(options)
    const app = client.createApp().configure(connection)
    return app.use('todos', connection.service('todos'), { methods: TODO_METHODS })
  }
  return {
    ...{ url, client, connect, createApp },
    expected: expectationsOf(server, name),
    service: (path) => createApp().service(path),
    remote: (path, options) => connect(options).service(path),
  }
}
