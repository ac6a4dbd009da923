import { describeFunction } from '../../core/advice/service-advice.ts'
import { Application } from '../../core/app.ts'
import { RegistrationError } from '../../core/errors/setup-errors.ts'
import { metadataOf } from '../../core/function-metadata.ts'
import type { ServiceOptions } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { isClass } from '../../core/options/configurator.ts'
import { isObject } from '../../core/value-kind.ts'
import { bodyParsers, setParsers, splitParsers } from '../body-parsers.ts'
import type { Middleware } from '../middleware.ts'
import { addMiddleware, setMiddleware } from '../middleware.ts'
import { toPatterns } from '../routing/service-router.ts'
import { isServed } from '../services-plugin.ts'
import { configuration } from './configuration.ts'
import { errorHandler, json, notFound, parseAuthentication, rest, urlencoded } from './rest.ts'
import { compress, cors, serveStatic } from './server-plugins.ts'
import type { ServerSetup } from './server-setup.ts'

/** Returns `app.use` for an application with a server: it also accepts functions, for REST only. */
export function createUse(
  app: Application,
  setup: ServerSetup,
): (...values: unknown[]) => Application {
  const useService = app.use.bind(app) as (path: string, ...rest: unknown[]) => Application
  return (...values) => {
    const [first, ...others] = values
    const path = typeof first === 'string' ? first : '/'
    const parts = typeof first === 'string' ? others : values
    const { before, service, after, options, plugins } = toParts(path, parts)
    if (service === undefined && before.length === 0 && plugins.length === 0) {
      return useService(path, others[0])
    }
    checkParsers(app, path, plugins.length > 0, service)
    const servicePath = toServicePath(path)
    if (service instanceof Application) {
      if (after.length > 0)
        throw new RegistrationError(`Nothing runs after the services below '${path}'`)
      useService(path, service)
    } else if (service !== undefined) {
      // Before registration: if no URL can have the path, nothing is registered.
      toPatterns(servicePath)
      useService(path, service, ...(options === undefined ? [] : [options]))
      const entry = app.entries.get(servicePath)
      if (entry !== undefined) {
        setMiddleware(entry, { before, after })
        setParsers(entry, plugins)
      }
      return app
    }
    if (before.length > 0) {
      // Rejects '/admin/*': a guard there would never run.
      toPatterns(servicePath)
      // `rest()` may be configured later.
      const getPrefix = (): string => setup.restOptions.prefix ?? ''
      setup.addPlugin((server) => addMiddleware(server, servicePath, getPrefix, before))
    }
    return app
  }
}

/** @throws {TypeError} parsers have no service, or come too late for its routes */
function checkParsers(
  app: Application,
  path: string,
  hasParsers: boolean,
  service: object | undefined,
): void {
  if (!hasParsers) return
  if (service === undefined || service instanceof Application) {
    throw new RegistrationError(
      `app.use('${path}'): bodyParsers() is for one service, which follows it`,
    )
  }
  if (isServed(app)) {
    throw new RegistrationError(
      `app.use('${path}'): bodyParsers() needs routes, which Fastify takes only before the start`,
    )
  }
}

/** Sorts the arguments of `app.use(path, ...before, service, ...after, options?)`. */
function toParts(path: string, values: readonly unknown[]) {
  const flat = values.flat(Number.POSITIVE_INFINITY).filter((value) => value !== undefined)
  const index = flat.findIndex(isObject)
  const end = index === -1 ? flat.length : index
  const others = flat.slice(end + 1)
  const options = isObject(others.at(-1)) ? (others.pop() as ServiceOptions) : undefined
  const { plugins, others: before } = splitParsers(toMiddleware(path, flat.slice(0, end)))
  const after = toMiddleware(path, others)
  if (splitParsers(after).plugins.length > 0) {
    throw new RegistrationError(`app.use('${path}'): bodyParsers() must be before the service`)
  }
  return {
    before,
    plugins,
    service: flat[end] as object | undefined,
    after,
    options,
  }
}

/** The factories of functions for `app.configure()`, by name. */
const FACTORIES: ReadonlyMap<unknown, string> = new Map<unknown, string>(
  [
    ...Object.entries({ rest, errorHandler, notFound, parseAuthentication, json, urlencoded }),
    ...Object.entries({ cors, compress, serveStatic, configuration }),
  ].map(([name, factory]) => [factory, name]),
)

/** The key under which `fastify-plugin` stores the name of a plugin. */
const PLUGIN_NAME = Symbol.for('fastify.display-name')

function toMiddleware(path: string, values: readonly unknown[]): Middleware[] {
  return values.map((value) => {
    if (typeof value !== 'function') {
      throw new RegistrationError(
        `app.use() takes functions, a service and its options, not ${typeof value}`,
      )
    }
    const mistake = findMistake(path, value)
    if (mistake !== undefined) {
      throw new RegistrationError(`app.use('${path}') cannot take this: ${mistake}`)
    }
    if (value.length <= 3) return value as Middleware
    throw new RegistrationError(
      `'${value.name}' takes ${value.length} arguments: functions are (request, reply, done?)`,
    )
  })
}

/** Returns what a function is actually for, if it cannot handle requests; `undefined` otherwise. */
function findMistake(path: string, value: { readonly name: string }): string | undefined {
  const factory = FACTORIES.get(value)
  if (factory !== undefined) return `${factory} belongs to app.configure(${factory}())`
  if (value === bodyParsers) return 'call it, bodyParsers((routes) => routes.register(parser))'
  const isOther = metadataOf(value).configuratorFactory !== undefined || isClass(value)
  if (isOther) return describeFunction(path, value)
  if (!Object.hasOwn(value, PLUGIN_NAME)) return undefined
  const name = (value as { [PLUGIN_NAME]?: string })[PLUGIN_NAME]
  return `${name} is a plugin of Fastify: app.fastify.register(${name}, options), or bodyParsers((routes) => routes.register(${name}, options)) for the bodies of one service`
}
