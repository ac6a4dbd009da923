import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * A function around the services of one path, or before all requests: it may put params into
 * `request.feathers`, answer by itself, or, after the service, replace `reply.data`. With three
 * arguments it has to call `done`; otherwise it is done when it returns, or its promise settles.
 */
export type Middleware =
  | ((request: FastifyRequest, reply: FastifyReply) => unknown)
  | ((request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void)

/** What runs for REST around one service. */
export interface ServiceMiddleware {
  readonly before: readonly Middleware[]
  readonly after: readonly Middleware[]
}

const MIDDLEWARE = new WeakMap<object, ServiceMiddleware>()

/** Returns the functions around a service, `null` when there are none. */
export function getMiddleware(service: object): ServiceMiddleware | null {
  return MIDDLEWARE.get(service) ?? null
}

export function setMiddleware(service: object, middleware: ServiceMiddleware): void {
  if (middleware.before.length + middleware.after.length > 0) MIDDLEWARE.set(service, middleware)
}

/** Runs functions one after the other. Resolves to whether none of them has sent an answer. */
export async function runMiddleware(
  functions: readonly Middleware[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  for (const middleware of functions) {
    await runOne(middleware, request, reply)
    if (reply.sent) return false
  }
  return true
}

/** Runs functions before every request of a server, or before those whose path is below one given. */
export function addMiddleware(
  server: FastifyInstance,
  path: string,
  functions: readonly Middleware[],
): void {
  const root = path === '/' ? '' : `/${path}`
  server.addHook('preHandler', async (request, reply) => {
    if (isBelow(request.url, root)) await runMiddleware(functions, request, reply)
    return reply.sent ? reply : undefined
  })
}

function isBelow(url: string, root: string): boolean {
  return (
    url.startsWith(root) && (url.length === root.length || '/?#'.includes(url[root.length] ?? ''))
  )
}

/** Sending an answer ends a function too: it may well never call `done` after that. */
function runOne(
  middleware: Middleware,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (middleware.length < 3) {
    return Promise.resolve((middleware as (...args: unknown[]) => unknown)(request, reply))
  }
  return new Promise((resolve, reject) => {
    const done = (error?: Error): void => (error == null ? resolve(undefined) : reject(error))
    reply.raw.once('finish', resolve).once('close', resolve)
    Promise.resolve(middleware(request, reply, done)).catch(reject)
  })
}
