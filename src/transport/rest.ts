import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { createConfigurator } from '../core/configurator.ts'
import type { Application } from '../core/index.ts'
import { handleAnyRequest } from './any-request.ts'
import type { Configurator, WithServer } from './configurator.ts'
import { loadServerPlugins, setRestOptions } from './configurator.ts'
import type { ErrorHandlerOptions } from './error-handler.ts'
import { fromFastifyError } from './error-handler.ts'
import type { FormOptions } from './form-body.ts'
import { addHealthRoutes } from './health.ts'
import type { JsonOptions } from './json-body.ts'
import type { NotFoundOptions } from './not-found.ts'
import type { ParseAuthenticationOptions } from './parse-authentication.ts'
import { serveServices } from './services-plugin.ts'
import type { Formatter, RestOptions } from './transport.ts'
import { withDefaults } from './with-defaults.ts'

/** What applies on a server of our own; the plugin leaves it to its host. */
const OWN_SERVER_DEFAULTS: RestOptions = { handlerTimeoutMs: 30_000, health: true }

/**
 * Serves the services of the application over REST: `app.configure(rest())`. Services may be
 * registered before or after it.
 * @param options options, or only a formatter
 */
export function rest(options: RestOptions | Formatter | null = {}): Configurator {
  const given = typeof options === 'function' ? { formatter: options } : (options ?? {})
  return createConfigurator('rest', options, (app: WithServer) => {
    setRestOptions(app, withDefaults(OWN_SERVER_DEFAULTS, { ...app.restOptions, ...given }))
    app.fastify.register(fastifyPlugin((server) => serve(server, app)))
  })
}

/** Sets how errors are answered and logged: `app.configure(errorHandler({ html: false }))`. */
export function errorHandler(options: ErrorHandlerOptions = {}): Configurator {
  return createRestConfigurator('errorHandler', options)
}

/** Sets how paths are answered that nothing is served at: `app.configure(notFound({ verbose: true }))`. */
export function notFound(options: NotFoundOptions = {}): Configurator {
  return createRestConfigurator('notFound', options)
}

/**
 * Has one more authentication service asked who calls, after those that are asked already:
 * `app.configure(parseAuthentication({ service: 'admin-login' }))`.
 */
export function parseAuthentication(options: ParseAuthenticationOptions): Configurator {
  return createConfigurator('parseAuthentication', options, (app: WithServer) => {
    const { authentication = {} } = app.restOptions
    const known = authentication === false ? [] : [authentication].flat()
    setRestOptions(app, { authentication: [...known, options] })
  })
}

/** Sets the limits for JSON bodies, which are read without it too: `app.configure(json({ maxDepth: 20 }))`. */
export function json(options: JsonOptions = {}): Configurator {
  return createRestConfigurator('json', options)
}

/** Sets the limits for URL-encoded bodies, which are read without it too. */
export function urlencoded(options: FormOptions = {}): Configurator {
  return createRestConfigurator('urlencoded', options)
}

/** Returns the configurator that sets the option of its own name. */
function createRestConfigurator<Name extends keyof RestOptions>(
  name: Name,
  options: NonNullable<RestOptions[Name]>,
): Configurator {
  return createConfigurator(name, options, (app: WithServer) => {
    setRestOptions(app, { [name]: options })
  })
}

async function serve(server: FastifyInstance, app: WithServer): Promise<void> {
  await loadServerPlugins(server)
  const services = app as WithServer & Application<never, never>
  await server.register(async (scope) => {
    const options = { ...app.restOptions, leavesNotFound: !app.ownsServer }
    const transport = await serveServices(scope, services, options)
    if (app.ownsServer) {
      server.setNotFoundHandler(handleAnyRequest.bind(null, transport))
      server.setErrorHandler((error, request, reply) => {
        transport.errors.send(fromFastifyError(error), request, reply)
      })
    }
    if (options.health !== false) addHealthRoutes(server, transport)
  })
}
