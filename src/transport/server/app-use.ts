import { describeFunction } from '../../core/advice/service-advice.ts'
import { Application } from '../../core/app.ts'
import { metadataOf } from '../../core/function-metadata.ts'
import type { ServiceOptions } from '../../core/index.ts'
import { toServicePath } from '../../core/index.ts'
import { isClass } from '../../core/options/configurator.ts'
import type { Middleware } from '../middleware.ts'
import { setMiddleware } from '../middleware.ts'
import { toPatterns } from '../routing/service-router.ts'
import { compress } from './compress.ts'
import { configuration } from './configuration.ts'
import { cors } from './cors.ts'
import { errorHandler, json, notFound, parseAuthentication, rest, urlencoded } from './rest.ts'
import { serveStatic } from './serve-static.ts'
import type { ServerSetup } from './server-setup.ts'

/** The arguments of `app.use(path, ...before, service, ...after, options?)`, told apart. */
interface UseParts {
  readonly before: readonly Middleware[]
  readonly service: object | undefined
  readonly after: readonly Middleware[]
  readonly options: ServiceOptions | undefined
}

/**
 * Returns `app.use` for an application with a server: beside services and sub-applications it takes
 * functions, which run for REST only.
 */
export function createUse(
  app: Application,
  setup: ServerSetup,
): (...values: unknown[]) => Application {
  const useService = app.use.bind(app) as (path: string, ...rest: unknown[]) => Application
  return (...values) => {
    const [first, ...others] = values
    const path = typeof first === 'string' ? first : '/'
    const parts = typeof first === 'string' ? others : values
    const { before, service, after, options } = toParts(path, parts)
    if (service === undefined && before.length === 0) return useService(path, others[0])
    if (service instanceof Application) {
      if (after.length > 0) throw new TypeError(`Nothing runs after the services below '${path}'`)
      useService(path, service)
    } else if (service !== undefined) {
      // Before it is registered: a path that no URL can have is refused as a whole.
      toPatterns(toServicePath(path))
      useService(path, service, ...(options === undefined ? [] : [options]))
      const entry = app.entries.get(toServicePath(path))
      if (entry !== undefined) setMiddleware(entry, { before, after })
      return app
    }
    if (before.length > 0) addBefore(setup, path, before)
    return app
  }
}

/** Before all requests below a path, whatever answers them. */
function addBefore(setup: ServerSetup, path: string, functions: readonly Middleware[]): void {
  const servicePath = toServicePath(path)
  // Refuses '/admin/*': a guard there would never run.
  toPatterns(servicePath)
  setup.addMiddleware(servicePath, functions)
}

function toParts(path: string, values: readonly unknown[]): UseParts {
  const flat = values.flat(Number.POSITIVE_INFINITY).filter((value) => value !== undefined)
  const index = flat.findIndex((value) => typeof value === 'object' && value !== null)
  if (index === -1) {
    return { before: toMiddleware(path, flat), service: undefined, after: [], options: undefined }
  }
  const last = flat.length > index + 1 ? flat.at(-1) : undefined
  const options = typeof last === 'object' && last !== null ? (last as ServiceOptions) : undefined
  return {
    before: toMiddleware(path, flat.slice(0, index)),
    service: flat[index] as object,
    after: toMiddleware(path, flat.slice(index + 1, options === undefined ? undefined : -1)),
    options,
  }
}

/** The factories of functions for `app.configure()`, by their names. */
const FACTORIES: ReadonlyMap<unknown, string> = new Map<unknown, string>(
  [
    ...Object.entries({ rest, errorHandler, notFound, parseAuthentication, json, urlencoded }),
    ...Object.entries({ cors, compress, serveStatic, configuration }),
  ].map(([name, factory]) => [factory, name]),
)

/** Where `fastify-plugin` notes the name of a plugin. */
const PLUGIN_NAME = Symbol.for('fastify.display-name')

function toMiddleware(path: string, values: readonly unknown[]): Middleware[] {
  return values.map((value) => {
    if (typeof value !== 'function') {
      throw new TypeError(
        `app.use() takes functions, a service and its options, not ${typeof value}`,
      )
    }
    checkFunction(path, value)
    if (value.length <= 3) return value as Middleware
    throw new TypeError(
      `'${value.name}' takes ${value.length} arguments: functions are (request, reply, done?)`,
    )
  })
}

/**
 * @throws {TypeError} a configurator, a class or a plugin: called with a request it would
 *   do nothing
 */
function checkFunction(path: string, value: { readonly name: string }): void {
  const factory = FACTORIES.get(value)
  const isOther = metadataOf(value).configuratorFactory !== undefined || isClass(value)
  if (factory !== undefined) refuse(path, `${factory} belongs to app.configure(${factory}())`)
  if (isOther) refuse(path, describeFunction(path, value))
  if (Object.hasOwn(value, PLUGIN_NAME)) {
    const name = (value as { [PLUGIN_NAME]?: string })[PLUGIN_NAME]
    refuse(path, `${name} is a plugin of Fastify: app.fastify.register(${name}, options)`)
  }
}

function refuse(path: string, problem: string): never {
  throw new TypeError(`app.use('${path}') can not take this: ${problem}`)
}
