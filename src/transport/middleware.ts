import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceEntry } from '../core/index.ts'
import { fromFastifyError } from './errors/fastify-error.ts'
import { isAnswered, watchSend } from './replies/reply-state.ts'
import { createPathTest } from './routing/guarded-paths.ts'

/**
 * A function around the services of one path, or before all requests. It may put params into `request.feathers`,
 * respond itself or, after the service, replace `reply.data`. With three arguments it must call `done`; otherwise it is
 * done when it returns, or its promise settles.
 */
export type Middleware = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
) => unknown

/** The functions around one service, for REST. */
export type ServiceMiddleware = Readonly<Record<'before' | 'after', readonly Middleware[]>>

/** The key of the functions around a service, on its entry. */
const MIDDLEWARE = Symbol('remex.middleware')

/** Returns the functions around a service, `null` if there are none. */
export function getMiddleware({ attachments }: Attachable): ServiceMiddleware | null {
  return (attachments.get(MIDDLEWARE) as ServiceMiddleware | undefined) ?? null
}

/** Returns whether functions run after a service: they see its response before it is sent. */
export function hasFunctionsAfter(entry: Attachable): boolean {
  return (getMiddleware(entry)?.after.length ?? 0) > 0
}

/** Sets the functions around a service. */
export function setMiddleware({ attachments }: Attachable, middleware: ServiceMiddleware): void {
  const { before, after } = middleware
  if (before.length + after.length > 0) attachments.set(MIDDLEWARE, middleware)
}

type Attachable = Pick<ServiceEntry, 'attachments'>

/**
 * Runs functions one after another. Resolves to whether the request continues: none of them has sent a response, and
 * the client has not left while one still had to call `done`.
 * @throws {ServiceError} the error that one of them throws
 */
export async function runMiddleware(
  functions: readonly Middleware[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  watchSend(reply)
  try {
    for (const middleware of functions) {
      const isDone = await runOne(middleware, request, reply)
      if (!isDone || isAnswered(reply)) return false
    }
  } catch (error) {
    throw fromFastifyError(error)
  }
  return true
}

/**
 * Runs functions before every request of a server, or before those whose path is at or below a given one, with and
 * without the prefix of the services: a guard should rather run too often. They do not run for health probes, which
 * must respond to any caller. If a route finds nothing, such as a folder of files, Fastify runs the hooks again for its
 * 404 handler, but these functions do not run a second time.
 * @param getPrefix returns the prefix of the services, after all configuration
 */
export function addMiddleware(
  server: FastifyInstance,
  path: string,
  getPrefix: () => string,
  functions: readonly Middleware[],
): void {
  let tests: ((url: string) => boolean)[] | null = null
  /** The requests for which these functions have run. */
  const served = new WeakSet<FastifyRequest>()
  // A callback need not be called if the client has left: a promise would continue to the handler.
  server.addHook('preHandler', (request, reply, done) => {
    if (tests === null) {
      const prefix = getPrefix()
      const paths = prefix === '' ? [path] : [path, `${prefix}/${path}`]
      tests = paths.map((one) => createPathTest(one, server))
    }
    const isBelow = tests.some((test) => test(request.url))
    if (!isBelow || isProbe(request.routeOptions) || served.has(request)) return done()
    served.add(request)
    runMiddleware(functions, request, reply).then((goesOn) => {
      if (goesOn) done()
    }, done)
  })
}

/** Returns whether a route is a health probe. */
export function isProbe({ config }: { readonly config?: unknown }): boolean {
  return (config as { readonly isProbe?: boolean } | undefined)?.isProbe === true
}

/** Resolves to whether the function has completed, so that the request may continue. */
function runOne(
  middleware: Middleware,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  if (middleware.length < 3) return callToEnd(middleware, request, reply)
  return new Promise((resolve, reject) => {
    // A response ends a function that never calls `done`. So does a client that leaves, since what the function checks
    // has then not been checked.
    const stop = (): void => resolve(false)
    reply.raw.once('finish', stop).once('close', stop)
    const done = (error?: unknown): void => {
      reply.raw.off('finish', stop).off('close', stop)
      if (error == null) resolve(true)
      else reject(error)
    }
    callToEnd(middleware, request, reply, done).catch(reject)
  })
}

async function callToEnd(
  middleware: Middleware,
  request: FastifyRequest,
  reply: FastifyReply,
  done?: (error?: Error) => void,
): Promise<true> {
  const returned = (middleware as (...values: unknown[]) => unknown)(request, reply, done)
  // A reply can be awaited too, until it is sent: `(request, reply) => reply.header('a', 'b')`.
  if (returned !== reply) await returned
  return true
}
