import type { FastifyInstance, FastifyPluginAsync, RegisterOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { AnyApplication, Application } from '../core/index.ts'
import { stripSlashes } from '../core/index.ts'
import { addCatchAll, handleAnyRequest } from './catch-all-routes.ts'
import { fromFastifyError } from './errors/fastify-error.ts'
import { toHostSerializers } from './logging/logger.ts'
import { findDocs, hideRoutes } from './openapi/openapi.ts'
import { checkSources } from './parse-authentication.ts'
import { addFormParser, addJsonParser, refuseOtherEncodings } from './parsing/request-body.ts'
import { keepPrivate } from './replies/headers.ts'
import { addDecorators } from './request-params.ts'
import type { RestOptions } from './rest-options.ts'
import { checkRestOptions } from './rest-options.ts'
import type { ScopeOptions } from './rest-transport.ts'
import { RestTransport } from './rest-transport.ts'
import { toPatterns } from './routing/service-router.ts'
import { addHealthRoutes } from './server/health-routes.ts'
import { checkMethodPaths } from './service-method.ts'
import { ServiceRoutes } from './service-routes.ts'

/** Options of the plugin. */
export interface RemexOptions extends RestOptions {
  /** The application whose services are served. Services may come and go later. */
  readonly app: AnyApplication
}

/**
 * The Fastify plugin: serves every service of an application, sets the services up when the server
 * gets ready and tears them down when it closes. Routes, hooks, parsers and the error handler of
 * the host are left as they are; so is its 404 handler, except below a prefix.
 */
export const remex: FastifyPluginAsync<RemexOptions> = fastifyPlugin(
  async (server: FastifyInstance, options: RemexOptions & RegisterOptions) => {
    const { app, prefix = '', logLevel, logSerializers, ...restOptions } = options
    checkRestOptions('remex', restOptions)
    addDecorators(server)
    const leavesNotFound = stripSlashes(prefix) === ''
    await findDocs(app)?.addTo(server)
    await server.register(
      async (scope) => {
        const transport = await serveServices(scope, app, { ...restOptions, leavesNotFound })
        addLifecycle(scope, app)
        if (restOptions.health === true) addHealthRoutes(scope, transport)
        // For verbs without any route.
        if (!leavesNotFound) scope.setNotFoundHandler(handleAnyRequest.bind(null, transport))
      },
      // This plugin is no scope of its own, where Fastify would apply them.
      {
        prefix: leavesNotFound ? '' : prefix,
        ...(logLevel === undefined ? {} : { logLevel }),
        logSerializers: toHostSerializers(server, logSerializers),
      },
    )
  },
  { name: 'remex', fastify: '5.x' },
)

/** Serves the services of an application in a scope of Fastify that is theirs alone. */
export async function serveServices(
  scope: FastifyInstance,
  app: AnyApplication,
  options: ScopeOptions,
): Promise<RestTransport> {
  checkPrefix(scope)
  const transport = new RestTransport(app as unknown as Application, scope, options)
  ;(app as Served)[IS_SERVED] = true
  hideRoutes(scope)
  refuseOtherEncodings(scope)
  scope.removeAllContentTypeParsers()
  addJsonParser(scope, options.json)
  addFormParser(scope, options.urlencoded, options.query)
  answerErrors(transport, scope)
  await findDocs(app)?.serve(scope, transport)
  new ServiceRoutes(transport, scope).addAll(transport.app.entries)
  addCatchAll(transport, scope)
  const unfollow = followServices(transport)
  // Services may be registered until then.
  scope.addHook('onReady', async () => checkSources(transport.app, transport.authentication))
  scope.addHook('onClose', async () => {
    unfollow()
    transport.timeLimit?.close()
  })
  scope.addHook('preClose', (done) => {
    transport.close()
    done()
  })
  return transport
}

/** Has the errors of a server or a scope answered as those of services are. */
export function answerErrors(transport: RestTransport, server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => {
    keepPrivate(transport.loginPaths, request, reply)
    transport.errors.send(fromFastifyError(error), error, request, reply)
  })
}

/**
 * Sets the services up when a server gets ready, and tears them down when it has closed.
 * @param lifecycle what does so, where it is not the application itself
 */
export function addLifecycle(
  server: FastifyInstance,
  app: AnyApplication,
  lifecycle: Lifecycle = app,
): void {
  let isDown = false
  server.addHook('onReady', async () => {
    try {
      await lifecycle.setup(server.server)
    } catch (error) {
      isDown = true
      // What was set up before a service failed is torn down again.
      await lifecycle.teardown(server.server).catch((failure: unknown) => {
        app.logger.error({ err: failure }, 'The teardown after a failed setup failed')
      })
      throw error
    }
  })
  server.addHook('onClose', async () => {
    if (!isDown) await lifecycle.teardown(server.server)
  })
}

interface Lifecycle {
  setup(server: unknown): Promise<unknown>
  teardown(server: unknown): Promise<unknown>
}

/** Where an application that is served by any server says so. */
const IS_SERVED: unique symbol = Symbol('remex.isServed')

interface Served {
  [IS_SERVED]?: true
}

/** Whether the services of an application are reached by requests. */
export function isServed(app: AnyApplication): boolean {
  return (app as Served)[IS_SERVED] === true
}

/**
 * Where a Node server keeps the prefixes in use: plugins in different scopes of one server share nothing
 * else.
 */
const PREFIXES: unique symbol = Symbol('remex.prefixes')

/**
 * One application can be served below a prefix, since it answers unknown paths as well.
 * @throws {TypeError} there is one already, or no request that is served can have the prefix
 */
function checkPrefix({ server, prefix }: FastifyInstance): void {
  const node = server as object as { [PREFIXES]?: Set<string> }
  if (prefix.includes('//')) {
    throw new TypeError(`The prefix '${prefix}' must have one slash before each segment`)
  }
  const path = `/${stripSlashes(prefix)}`
  node[PREFIXES] ??= new Set()
  if (node[PREFIXES].has(path)) {
    throw new TypeError(
      `Services are served below '${path}' already: call rest() once, give a plugin a prefix of ` +
        'its own, or put the services of two applications together by app.use()',
    )
  }
  node[PREFIXES].add(path)
}

/**
 * Has the router find services that come or go from now on, since Fastify takes no routes after the
 * start. Returns the function that ends this.
 */
function followServices(transport: RestTransport): () => void {
  const hasMethodPaths = transport.options.methodPaths === true
  if (hasMethodPaths) transport.app.entries.forEach(checkMethodPaths)
  return transport.app.observe((change, path, entry) => {
    transport.router.rebuild()
    transport.loginPaths.rebuild()
    transport.isDynamic = true
    // Throws to the caller of `app.use()`: no URL can have this path. The service is still
    // registered for calls within the process.
    if (change === 'added') toPatterns(path, transport.prefix)
    if (change === 'added' && hasMethodPaths) checkMethodPaths(entry)
  })
}
