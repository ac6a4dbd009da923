import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Application } from '../core/index.ts'
import { handleAnyRequest } from './any-request.ts'
import { refuseEncodedBodies } from './body-encoding.ts'
import { fromFastifyError } from './error-handler.ts'
import { addFormParser } from './form-body.ts'
import { addJsonParser } from './json-body.ts'
import { addDecorators } from './request-params.ts'
import { toPatterns } from './service-router.ts'
import { ServiceRoutes } from './service-routes.ts'
import type { RestOptions } from './transport.ts'
import { RestTransport } from './transport.ts'

// Whatever services and settings an application has: only their paths matter here.
// biome-ignore lint/suspicious/noExplicitAny: a generic constraint
type AnyApplication = Application<any, any>

/** Options of the plugin. */
export interface RemexOptions extends RestOptions {
  /** The application whose services are served. Services may come and go later. */
  readonly app: AnyApplication
  /** Path that all services are below. Default: none. */
  readonly prefix?: string
}

/**
 * The Fastify plugin: serves every service of an application, sets the services up when the server
 * gets ready and tears them down when it closes. Routes, hooks, parsers and the error handler of the
 * host are left as they are; so is its 404, unless there is a prefix of which everything is ours.
 */
export const remex: FastifyPluginAsync<RemexOptions> = fastifyPlugin(
  async (server: FastifyInstance, { app, prefix = '', ...options }: RemexOptions) => {
    addDecorators(server)
    const leavesNotFound = prefix === ''
    await server.register(
      async (scope) => {
        const transport = await serveServices(scope, app, { ...options, leavesNotFound })
        addLifecycle(scope, app)
        // For verbs that the server has no routes for at all.
        if (!leavesNotFound) scope.setNotFoundHandler(handleAnyRequest.bind(null, transport))
      },
      { prefix },
    )
  },
  { name: 'remex', fastify: '5.x' },
)

/** What the scope needs to know beside the options of its user. */
export interface ScopeOptions extends RestOptions {
  /** Whether paths that nothing is served at are left to the server. */
  readonly leavesNotFound: boolean
}

/** Serves the services of an application in a scope of Fastify that is theirs alone. */
export async function serveServices(
  scope: FastifyInstance,
  app: AnyApplication,
  options: ScopeOptions,
): Promise<RestTransport> {
  const transport = new RestTransport(app as unknown as Application, scope, options)
  refuseEncodedBodies(scope)
  scope.removeAllContentTypeParsers()
  addJsonParser(scope, options.json)
  addFormParser(scope, options.urlencoded, options.query)
  scope.setErrorHandler((error, request, reply) => {
    transport.errors.send(fromFastifyError(error), request, reply)
  })
  addRoutes(transport, scope)
  followServices(transport)
  scope.addHook('onClose', async () => transport.timeLimit?.close())
  scope.addHook('preClose', (done) => {
    transport.isClosing = true
    done()
  })
  return transport
}

/** Sets the services up when a server gets ready, and tears them down when it has closed. */
export function addLifecycle(server: FastifyInstance, app: AnyApplication): void {
  let isDown = false
  server.addHook('onReady', async () => {
    try {
      await app.setup(server.server)
    } catch (error) {
      isDown = true
      // What was set up before a service failed is torn down again.
      await app.teardown(server.server).catch((failure: unknown) => {
        app.logger.error({ err: failure }, 'The teardown after a failed setup failed')
      })
      throw error
    }
  })
  server.addHook('onClose', async () => {
    if (!isDown) await app.teardown(server.server)
  })
}

function addRoutes(transport: RestTransport, scope: FastifyInstance): void {
  new ServiceRoutes(transport, scope).addAll(transport.app.entries)
  for (const method of scope.supportedMethods) {
    const isTaken = (url: string): boolean =>
      scope.hasRoute({ method, url: `${scope.prefix}${url}` })
    // By the root service, or by the host, whose '/*' answers at '/' too.
    const isAllTaken = isTaken('/*')
    for (const url of ['/', '/*']) {
      if (isAllTaken || isTaken(url)) continue
      const handler = handleAnyRequest.bind(null, transport)
      scope.route({ method, url, exposeHeadRoute: false, handler })
    }
  }
}

/** Fastify takes no routes after the start, so what comes or goes from now on is found by the router. */
function followServices(transport: RestTransport): void {
  transport.app.observe((change, path) => {
    transport.router.rebuild()
    transport.isDynamic = true
    // Told to whoever adds it; in the process the service works.
    if (change === 'added') toPatterns(path)
  })
}
