import type { FastifyCompressOptions } from '@fastify/compress'
import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyStaticOptions } from '@fastify/static'
import type { FastifyRequest } from 'fastify'
import type { Configurator } from './configurator.ts'
import { addServerPlugin } from './configurator.ts'

type CorsCallback = (error: Error | null, options: FastifyCorsOptions) => void

/** What a browser may send when nothing else is said: the verbs and headers of services. */
const CORS_DEFAULTS: FastifyCorsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: ['Accept', 'Authorization', 'Content-Type', 'X-Service-Method'],
}

/**
 * Lets browsers call the services from other origins: `app.configure(cors({ origin: [...] }))`.
 * Without it no origin is allowed.
 * @throws {TypeError} credentials together with every origin
 * @see https://github.com/fastify/fastify-cors for the options
 */
export function cors(options: FastifyCorsOptions = {}): Configurator {
  const { origin = '*', credentials } = options
  if (credentials === true && [origin].flat().some((one) => one === '*' || one === true)) {
    throw new TypeError('cors() with credentials needs a list of origins, not every origin')
  }
  const resolved: FastifyCorsOptions = { ...CORS_DEFAULTS, ...options }
  return addServerPlugin(async (server) => {
    // Loaded only where it is wanted: a server without it starts sooner.
    const { default: fastifyCors } = await import('@fastify/cors')
    await server.register(fastifyCors, () => (request: FastifyRequest, callback: CorsCallback) => {
      // An OPTIONS request that no browser made asks for the methods of a service.
      const isPlain = request.headers.origin === undefined
      callback(null, isPlain ? { ...resolved, preflight: false } : resolved)
    })
  })
}

/**
 * Compresses answers that are worth it. Answers that must not be stored are sent as they are, since
 * compressing a secret beside reflected input tells it; compressed request bodies are refused.
 * @see https://github.com/fastify/fastify-compress for the options
 */
export function compress(options: FastifyCompressOptions = {}): Configurator {
  return addServerPlugin(async (server) => {
    // The only way to except an answer is what clients say; this hook runs before the plugin's.
    server.addHook('onSend', (request, reply, payload, done) => {
      const isPrivate = String(reply.getHeader('cache-control') ?? '').includes('no-store')
      if (isPrivate) request.headers['x-no-compression'] = 'true'
      done(null, payload)
    })
    const { default: fastifyCompress } = await import('@fastify/compress')
    await server.register(fastifyCompress, { globalDecompression: false, ...options })
  })
}

/**
 * Serves the files of a folder beside the services: `app.configure(serveStatic({ root }))`.
 * @see https://github.com/fastify/fastify-static for the options
 */
export function serveStatic(options: FastifyStaticOptions): Configurator {
  return addServerPlugin(async (server) => {
    const { default: fastifyStatic } = await import('@fastify/static')
    await server.register(fastifyStatic, options)
  })
}
