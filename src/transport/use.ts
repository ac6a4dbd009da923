import type { FastifyInstance } from 'fastify'
import type { Application, ServiceOptions } from '../core/index.ts'
import { toServicePath } from '../core/index.ts'
import { addServerPlugin } from './configurator.ts'
import type { Middleware } from './middleware.ts'
import { addMiddleware, setMiddleware } from './middleware.ts'

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
    if (service === undefined) {
      if (before.length === 0) return useService(path, rest[0])
      const load = addServerPlugin((instance) =>
        addMiddleware(instance, toServicePath(path), before),
      )
      load({ fastify: server, restOptions: {} })
      return app
    }
    useService(path, service, ...(options === undefined ? [] : [options]))
    setMiddleware(findRegistered(app, path) ?? service, { before, after })
    return app
  }
}

function toParts(values: readonly unknown[]): UseParts {
  const flat = values.flat(Number.POSITIVE_INFINITY)
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
    if (typeof value === 'function') return value as Middleware
    throw new TypeError(`app.use() takes functions, a service and its options, not ${typeof value}`)
  })
}

/** A literal is registered as an object derived from it: that is the one which calls know. */
function findRegistered(app: Application, path: string): object | undefined {
  return app.entries.get(toServicePath(path))?.service
}
