import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Application } from '../../core/index.ts'
import { checkOptions, withDefaults } from '../../core/options/option-check.ts'
import type { ErrorHandlerOptions } from '../errors/error-handler.ts'
import type { NotFoundOptions } from '../errors/not-found.ts'
import type { ParseAuthenticationOptions } from '../parse-authentication.ts'
import { PARSE_AUTHENTICATION_RULES, toSources } from '../parse-authentication.ts'
import type { FormOptions, JsonOptions } from '../parsing/request-body.ts'
import type { Formatter, RestOptions } from '../rest-options.ts'
import { REST_RULES } from '../rest-options.ts'
import { serveServices } from '../services-plugin.ts'
import { addHealthRoutes } from './health-routes.ts'
import type { Configurator, WithServer } from './server-setup.ts'
import { createServerConfigurator } from './server-setup.ts'

/** Defaults for a server created by `fastifyApp()`; the plugin leaves these to its host. */
const OWN_SERVER_DEFAULTS: RestOptions = { handlerTimeoutMs: 30_000, health: true }

/**
 * Returns a function for `app.configure()` that serves the services of the application over REST:
 * `app.configure(rest())`. Services may be registered before or after it.
 * @param options options, or only a formatter
 * @throws {TypeError} an option is unknown; when configured, a second time
 */
export function rest(options: RestOptions | Formatter | null = {}): Configurator {
  const given = typeof options === 'function' ? { formatter: options } : (options ?? {})
  const configure = createServerConfigurator('rest', options, (app) => {
    const { serverSetup: setup } = app
    setup.configureOnce('rest')
    setup.addRestOptions(withDefaults(withDefaults(OWN_SERVER_DEFAULTS, setup.restOptions), given))
    app.fastify.register(fastifyPlugin((server) => serve(server, app)))
  })
  checkOptions('rest()', given, REST_RULES)
  return configure
}

/** Sets how errors are returned and logged: `app.configure(errorHandler({ html: false }))`. */
export function errorHandler(options: ErrorHandlerOptions = {}): Configurator {
  return createOptionSetter('errorHandler', options)
}

/** Sets the response for unknown paths: `app.configure(notFound({ verbose: true }))`. */
export function notFound(options: NotFoundOptions = {}): Configurator {
  return createOptionSetter('notFound', options)
}

/**
 * Adds an authentication service that reads the credentials of requests, after the existing ones:
 * `app.configure(parseAuthentication({ service: 'admin-login' }))`.
 */
export function parseAuthentication(options: ParseAuthenticationOptions): Configurator {
  const configure = createServerConfigurator('parseAuthentication', options, (app) => {
    const known = toSources(app.serverSetup.restOptions.authentication)
    app.serverSetup.addRestOptions({ authentication: [...known, options] })
  })
  checkOptions('parseAuthentication()', options, PARSE_AUTHENTICATION_RULES)
  return configure
}

/** Sets limits for JSON bodies: `app.configure(json({ maxDepth: 20 }))`. */
export function json(options: JsonOptions = {}): Configurator {
  return createOptionSetter('json', options)
}

/** Sets the limits for URL-encoded bodies, which are parsed without it too. */
export function urlencoded(options: FormOptions = {}): Configurator {
  return createOptionSetter('urlencoded', options)
}

/** Returns a configurator that merges options into those of earlier calls. */
function createOptionSetter<Name extends 'errorHandler' | 'notFound' | 'json' | 'urlencoded'>(
  name: Name,
  options: NonNullable<RestOptions[Name]>,
): Configurator {
  const configure = createServerConfigurator(name, options, (app) => {
    const { serverSetup: setup } = app
    setup.addRestOptions({ [name]: withDefaults({ ...setup.restOptions[name] }, options) })
  })
  checkOptions(`${name}()`, options, REST_RULES[name].keys ?? {})
  return configure
}

async function serve(server: FastifyInstance, app: WithServer): Promise<void> {
  const { serverSetup, ownsServer } = app
  await serverSetup.loadPlugins(server)
  const { prefix = '', ...options } = serverSetup.readRestOptions()
  const services = app as WithServer & Application<never, never>
  const place = { prefix: prefix === '/' ? '' : prefix }
  await serveServices(server, services, { ...options, ownsServer }, place, (_scope, transport) => {
    if (options.health !== false) addHealthRoutes(server, transport)
  })
}
