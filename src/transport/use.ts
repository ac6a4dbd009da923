import type { FastifyInstance } from 'fastify'
import type { ServiceOptions } from '../core/index.ts'
import { Application, toServicePath } from '../core/index.ts'
import { addServerPlugin } from './configurator.ts'
import type { Middleware } from './middleware.ts'
import { addMiddleware, setMiddleware } from './middleware.ts'
import { toPatterns } from './service-router.ts'

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
  server: FastifyInstance,
): (...values: unknown[]) => Application {
  const useService = app.use.bind(app) as (path: string, ...rest: unknown[]) => Application
  return (...values) => {
    const [first, ...rest] = values
    const path = typeof first === 'string' ? first : '/'
    const { before, service, after, options } = toParts(typeof first === 'string' ? rest : values)
    if (service === undefined && before.length === 0) return useService(path, rest[0])
    if (service instanceof Application) {
      if (after.length > 0) throw new TypeError(`Nothing runs after the services below '${path}'`)
      useService(path, service)
    } else if (service !== undefined) {
      // Before it is registered: a path that no URL can have is refused as a whole.
      toPatterns(toServicePath(path))
      useService(path, service, ...(options === undefined ? [] : [options]))
      setMiddleware(findRegistered(app, path) ?? service, { before, after })
      return app
    }
    if (before.length > 0) addBefore(server, path, before)
    return app
  }
}

/** Before all requests below a path, whatever answers them. */
function addBefore(server: FastifyInstance, path: string, functions: readonly Middleware[]): void {
  const load = addServerPlugin((scope) => addMiddleware(scope, toServicePath(path), functions))
  load({ fastify: server })
}

function toParts(values: readonly unknown[]): UseParts {
  const flat = values.flat(Number.POSITIVE_INFINITY).filter((value) => value !== undefined)
  const index = flat.findIndex((value) => typeof value === 'object' && value !== null)
  if (index === -1)
    return { before: toMiddleware(flat), service: undefined, after: [], options: undefined }
  const last = flat.length > index + 1 ? flat.at(-1) : undefined
  const options = typeof last === 'object' && last !== null ? (last as ServiceOptions) : undefined
  return {
    before: toMiddleware(flat.slice(0, index)),
    service: flat[index] as object,
    after: toMiddleware(flat.slice(index + 1, options === undefined ? undefined : -1)),
    options,
  }
}

function toMiddleware(values: readonly unknown[]): Middleware[] {
  return values.map((value) => {
    if (typeof value !== 'function') {
      throw new TypeError(
        `app.use() takes functions, a service and its options, not ${typeof value}`,
      )
    }
    if (value.length <= 3) return value as Middleware
    throw new TypeError(
      `'${value.name}' takes ${value.length} arguments: functions are (request, reply, done?)`,
    )
  })
}

/** A literal is registered as an object derived from it: that is the one which calls know. */
function findRegistered(app: Application, path: string): object | undefined {
  return app.entries.get(toServicePath(path))?.service
}
