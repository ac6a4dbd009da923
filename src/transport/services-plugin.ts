import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Application } from '../core/index.ts'
import { handleAnyRequest } from './any-request.ts'
import { fromFastifyError } from './error-handler.ts'
import { addFormParser } from './form-body.ts'
import { addJsonParser } from './json-body.ts'
import { addDecorators } from './request-params.ts'
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
    await server.register(
      (scope) => serveServices(scope, app, { ...options, leavesNotFound: prefix === '' }),
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
  scope.removeAllContentTypeParsers()
  addJsonParser(scope, options.json)
  await addFormParser(scope, options.urlencoded)
  scope.setErrorHandler((error, request, reply) => {
    transport.errors.send(fromFastifyError(error), request, reply)
  })
  addRoutes(transport, scope)
  followServices(transport)
  scope.addHook('preClose', (done) => {
    transport.isClosing = true
    done()
  })
  scope.addHook('onReady', () => setUp(app, scope))
  scope.addHook('onClose', async () => {
    await app.teardown(scope.server)
  })
  return transport
}

function addRoutes(transport: RestTransport, scope: FastifyInstance): void {
  const routes = new ServiceRoutes(transport, scope)
  for (const [path, entry] of transport.app.entries) routes.add(path, entry)
  for (const method of scope.supportedMethods) {
    for (const url of ['/', '/*']) {
      // Taken by the root service, or by the host.
      if (scope.hasRoute({ method, url: `${scope.prefix}${url}` })) continue
      const handler = handleAnyRequest.bind(null, transport)
      scope.route({ method, url, exposeHeadRoute: false, handler })
    }
  }
}

/** Fastify takes no routes after the start, so what comes or goes from now on is found by the router. */
function followServices(transport: RestTransport): void {
  transport.app.observe(() => {
    transport.router.rebuild()
    transport.isDynamic = true
  })
}

/** What was set up before a service failed is torn down again. */
async function setUp(app: AnyApplication, scope: FastifyInstance): Promise<void> {
  try {
    await app.setup(scope.server)
  } catch (error) {
    await app.teardown(scope.server)
    throw error
  }
}
