import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceEntry } from '../core/index.ts'
import { fromFastifyError } from './errors/fastify-error.ts'
import { isAnswered, watchSend } from './replies/reply-state.ts'
import { createPathTest } from './routing/guarded-paths.ts'

/**
 * A function around the services of one path, or before all requests: it may put params into
 * `request.feathers`, answer by itself, or, after the service, replace `reply.data`. With three
 * arguments it has to call `done`; otherwise it is done when it returns, or its promise settles.
 */
export type Middleware = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
) => unknown

/** What runs for REST around one service. */
export type ServiceMiddleware = Readonly<Record<'before' | 'after', readonly Middleware[]>>

/** Where the entry of a service keeps the functions around it. */
const MIDDLEWARE = Symbol('remex.middleware')

/** Returns the functions around a service, `null` when there are none. */
export function getMiddleware({ attachments }: Attachable): ServiceMiddleware | null {
  return (attachments.get(MIDDLEWARE) as ServiceMiddleware | undefined) ?? null
}

/** Whether functions run after a service: they see its answer before it is sent. */
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
 * Runs functions one after the other. Resolves to whether the request goes on: none of them has
 * sent an answer, and the client has not gone while one had still to call `done`.
 * @throws {ServiceError} what one of them throws
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
 * Runs functions before every request of a server, or before those whose path is at or below one
 * given, with and without the prefix of the services: a guard had better run too often. They do not
 * run for the health probes, which must answer whoever asks. Where a route finds nothing, a folder
 * of files for example, Fastify runs the hooks again for its 404 handler: functions that have run
 * for a request do not run a second time.
 * @param getPrefix returns the path that services are below, once all is configured
 */
export function addMiddleware(
  server: FastifyInstance,
  path: string,
  getPrefix: () => string,
  functions: readonly Middleware[],
): void {
  let tests: ((url: string) => boolean)[] | null = null
  /** The requests that these functions have run for. */
  const served = new WeakSet<FastifyRequest>()
  // A callback need not be called when the client has gone: a promise would go on to the handler.
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

/** Whether a route is that of a health probe. */
export function isProbe({ config }: { readonly config?: unknown }): boolean {
  return (config as { readonly isProbe?: boolean } | undefined)?.isProbe === true
}

/** Resolves to whether the function was completed, and the request may go on. */
function runOne(
  middleware: Middleware,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  if (middleware.length < 3) return callToEnd(middleware, request, reply)
  return new Promise((resolve, reject) => {
    // An answer ends a function that never calls `done`; so does a client that goes away, since
    // whatever the function was there to check is not checked then.
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
