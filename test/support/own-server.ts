import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import fastify from 'fastify'
import type {
  Application,
  FastifyApplication,
  FastifyAppOptions,
} from '../../src/transport/index.ts'
import { createApp, fastifyApp } from '../../src/transport/index.ts'
import type { ListeningServer, ServerOptions, TestScope } from './http.ts'
import { startServer } from './http.ts'

export interface OwnServerOptions extends Omit<ServerOptions, 'services' | 'fastify'> {
  /** Options of the server. */
  readonly fastify?: FastifyAppOptions
}

type Configure = (app: FastifyApplication) => unknown

/**
 * Opens an application that has a server of its own, as `fastifyApp()` makes it, on a free port. The options may
 * come first, so that a long function is last.
 */
export function startOwnServer(
  t: TestScope,
  configure: Configure,
  options?: OwnServerOptions,
): Promise<ListeningServer>
export function startOwnServer(
  t: TestScope,
  options: OwnServerOptions | undefined,
  configure: Configure,
): Promise<ListeningServer>
export function startOwnServer(t: TestScope, first: unknown, last: unknown) {
  const [configure, options] = typeof first === 'function' ? [first, last] : [last, first]
  const services = (app: Application) => (configure as Configure)(app as FastifyApplication)
  return startServer(t, 'standalone', { ...(options as OwnServerOptions), services })
}

type Closing = Pick<TestScope, 'teardown'>

/** Returns an application that has a server of its own; it is closed at the end of the test. */
export function openApp(t: Closing, options?: FastifyAppOptions): FastifyApplication {
  const app = fastifyApp(createApp(), options)
  t.teardown(() => app.close())
  return app
}

/** Returns a server of Fastify for the plugin; it is closed at the end of the test. */
export function openHost(t: Closing, options: object = {}): FastifyInstance {
  const host = fastify(options as FastifyServerOptions)
  t.teardown(() => host.close())
  return host
}

/** Adds a service with functions around it, and perhaps options, to an application of any type. */
export function useAround(app: object, path: string, ...parts: readonly unknown[]): void {
  const { use } = app as { use: (...given: readonly unknown[]) => unknown }
  use.call(app, path, ...parts)
}
