import type { FastifyInstance, FastifyPluginAsync, RegisterOptions } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { OptionError, OrderError } from '../core/errors/setup-errors.ts'
import type { AnyApplication, Application } from '../core/index.ts'
import { stripSlashes } from '../core/index.ts'
import { checkOptions } from '../core/options/option-check.ts'
import { openParserScopes } from './body-parsers.ts'
import { addCatchAll, handleAnyRequest } from './catch-all-routes.ts'
import { fromFastifyError } from './errors/fastify-error.ts'
import { toHostSerializers } from './logging/logger.ts'
import { checkSources } from './parse-authentication.ts'
import { addFormParser, addJsonParser, refuseOtherEncodings } from './parsing/request-body.ts'
import { finishUnreadBodies, isReadToEnd } from './parsing/unread-body.ts'
import { keepPrivate, setEncodable } from './replies/headers.ts'
import { addDecorators } from './request-params.ts'
import { REST_FEATURES } from './rest-features.ts'
import type { RestOptions } from './rest-options.ts'
import { REST_RULES } from './rest-options.ts'
import { RestPlans } from './rest-plan.ts'
import type { ScopeOptions } from './rest-transport.ts'
import { RestTransport } from './rest-transport.ts'
import { findLoginPaths } from './routing/guarded-paths.ts'
import { checkMethodPaths } from './routing/service-method.ts'
import { toPatterns } from './routing/service-router.ts'
import { addServiceRoutes } from './routing/service-routes.ts'
import { SCOPE_FEATURES } from './scope-features.ts'
import type { ScopePart } from './scope-parts.ts'
import { listScopeParts } from './scope-parts.ts'
import { addHealthRoutes } from './server/health-routes.ts'

/** Options of the plugin. */
export interface RemexOptions extends RestOptions {
  /** The application whose services are served. Services may be added and removed later. */
  readonly app: AnyApplication
}

/**
 * The Fastify plugin: serves every service of an application, sets the services up when the server is ready and tears
 * them down when it closes. It does not change routes, hooks, parsers and the error handler of the host; nor its 404
 * handler, except below a prefix.
 */
export const remex: FastifyPluginAsync<RemexOptions> = fastifyPlugin(
  async (server: FastifyInstance, options: RemexOptions & RegisterOptions) => {
    const { app, prefix = '', logLevel, logSerializers, ...restOptions } = options
    checkOptions('remex', restOptions, REST_RULES)
    addDecorators(server)
    // This plugin has no separate scope in which Fastify would apply them.
    const place = {
      prefix: stripSlashes(prefix) === '' ? '' : prefix,
      ...(logLevel === undefined ? {} : { logLevel }),
      logSerializers: toHostSerializers(server, logSerializers),
    }
    const serving = { ...restOptions, ownsServer: false }
    await serveServices(server, app, serving, place, (scope, transport) => {
      addLifecycle(scope, app)
      if (restOptions.health === true) addHealthRoutes(scope, transport)
    })
  },
  { name: 'remex', fastify: '5.x' },
)

/**
 * Serves the services of an application in their own Fastify scope.
 * @param addMore adds other content to the scope
 */
export async function serveServices(
  server: FastifyInstance,
  app: AnyApplication,
  options: Omit<ScopeOptions, 'leavesNotFound'>,
  place: RegisterOptions & { readonly prefix: string },
  addMore: (scope: FastifyInstance, transport: RestTransport) => void,
): Promise<void> {
  const leavesNotFound = !options.ownsServer && place.prefix === ''
  const listParts = (): readonly ScopePart[] => [...SCOPE_FEATURES, ...listScopeParts(app)]
  for (const part of listParts()) await part.prepare?.(server, app, options)
  // Named, as are its hooks and handlers: Fastify's messages, and traces, identify a scope by its function.
  const remexServices = async (scope: FastifyInstance): Promise<void> => {
    checkPrefix(scope)
    const untyped = app as unknown as Application
    const transport = new RestTransport(untyped, scope, { ...options, leavesNotFound })
    const plans = new RestPlans(transport, REST_FEATURES)
    Object.assign(app, { [IS_SERVED]: true })
    hideRoutes(scope)
    refuseOtherEncodings(scope)
    if (!options.ownsServer) finishUnreadBodies(scope)
    if (scope.hasReplyDecorator('compress')) markEncodable(scope)
    scope.removeAllContentTypeParsers()
    addJsonParser(scope, options.json)
    addFormParser(scope, options.urlencoded, options.query)
    answerErrors(transport, scope)
    if (options.ownsServer) answerErrors(transport, server)
    for (const part of listParts()) await part.addBefore?.(scope, transport)
    addServiceRoutes(plans, scope, await openParserScopes(transport, scope))
    for (const part of listParts()) part.addAfter?.(scope, transport)
    addCatchAll(plans, scope)
    // For verbs without any route.
    const owned = options.ownsServer ? server : scope
    if (!leavesNotFound) owned.setNotFoundHandler(handleAnyRequest.bind(null, plans))
    followServices(plans, scope)
    // Services may be registered until then.
    scope.addHook('onReady', async () => checkSources(transport.app, transport.authentication))
    scope.addHook('preClose', (done) => {
      transport.close()
      done()
    })
    addMore(scope, transport)
  }
  await server.register(remexServices, place)
}

/** Put in the schema of a route, it makes `@fastify/swagger` leave the route out. */
const HIDDEN = Object.freeze({ hide: true })

/** Keeps the routes of a scope out of the document of `@fastify/swagger`: services are documented separately. */
function hideRoutes(scope: FastifyInstance): void {
  if (!scope.hasDecorator('swagger')) return
  scope.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, ...HIDDEN }
  })
}

/** For a server with `@fastify/compress`, which keeps entity tags and does not mark uncompressed responses. */
function markEncodable(scope: FastifyInstance): void {
  scope.addHook('onSend', (request, reply, payload, done) => {
    // With `compress()` private responses are never compressed.
    if (request.headers['x-no-compression'] === undefined) setEncodable(reply)
    done(null, payload)
  })
}

/** Makes a server or a scope return its errors in the form of services. */
function answerErrors(transport: RestTransport, server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => {
    keepPrivate(transport.loginPaths, request, reply)
    // Fastify closes the connection after each body that it rejects.
    if (isReadToEnd(request.raw) && reply.raw.shouldKeepAlive && !transport.isClosing) {
      reply.header('connection', 'keep-alive')
    }
    transport.errors.send(fromFastifyError(error), error, request, reply)
  })
}

/**
 * Sets the services up when a server is ready, and tears them down when it has closed.
 * @param lifecycle does so instead of the application itself
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
      // Services that were set up before one failed are torn down again.
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

type Lifecycle = Record<'setup' | 'teardown', (server: unknown) => Promise<unknown>>

/** The key that marks an application as served by a server. */
const IS_SERVED: unique symbol = Symbol('remex.isServed')

/** Returns whether requests can reach the services of an application. */
export function isServed(app: AnyApplication): boolean {
  return (app as { readonly [IS_SERVED]?: true })[IS_SERVED] === true
}

/** The key of the prefixes in use on a Node server: plugins in its scopes share nothing else. */
const PREFIXES: unique symbol = Symbol('remex.prefixes')

/**
 * Only one application can be served below a prefix, since it also responds to unknown paths.
 * @throws {TypeError} there is one already, or no servable request can have the prefix
 */
function checkPrefix({ server, prefix }: FastifyInstance): void {
  const node = server as object as { [PREFIXES]?: Set<string> }
  if (prefix.includes('//')) {
    throw new OptionError(`The prefix '${prefix}' must have one slash before each segment`)
  }
  const path = `/${stripSlashes(prefix)}`
  node[PREFIXES] ??= new Set()
  if (node[PREFIXES].has(path)) {
    throw new OrderError(
      `Services are served below '${path}' already: call rest() once, give a plugin a prefix of ` +
        'its own, or put the services of two applications together by app.use()',
    )
  }
  node[PREFIXES].add(path)
}

/** Lets the router find services that are added or removed: Fastify accepts no routes after the start. */
function followServices(plans: RestPlans, scope: FastifyInstance): void {
  const { transport } = plans
  const { app, options } = transport
  const hasMethodPaths = options.methodPaths === true
  if (hasMethodPaths) app.entries.forEach(checkMethodPaths)
  // Services may have been added while the scope was created.
  transport.loginPaths = findLoginPaths(app, scope)
  const unfollow = app.observe((change, path, entry) => {
    plans.clear()
    transport.loginPaths = findLoginPaths(app, scope)
    transport.isDynamic = true
    if (change === 'removed') return
    // Throws to the caller of `app.use()`: no URL can have this path. It only works for internal calls.
    toPatterns(path, transport.prefix)
    if (hasMethodPaths) checkMethodPaths(entry)
  })
  scope.addHook('onClose', async () => {
    unfollow()
    transport.timeLimit?.close()
  })
}
