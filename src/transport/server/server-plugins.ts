import type { FastifyCompressOptions } from '@fastify/compress'
import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import { checkFactoryCall, createConfigurator } from '../../core/configurator.ts'
import type { Logger } from '../../core/index.ts'
import { checkOptionNames } from '../option-names.ts'
import { withDefaults } from '../with-defaults.ts'
import { allowsEveryOrigin, findOriginFaults } from './cors-origin.ts'
import type { Configurator, ServerPlugin, WithServer } from './server-configurator.ts'
import { addServerPlugin } from './server-configurator.ts'

type CorsCallback = (error: Error | null, options: FastifyCorsOptions) => void

/** What a browser may send when nothing else is said: the verbs and headers of services. */
const CORS_DEFAULTS: FastifyCorsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: ['Accept', 'Authorization', 'Content-Type', 'X-Service-Method'],
}

/** What can be said for one request, as the plugin is asked for each one. */
const CORS_NAMES: readonly string[] = [
  ...['origin', 'methods', 'allowedHeaders', 'exposedHeaders', 'credentials', 'maxAge'],
  ...['cacheControl', 'preflight', 'preflightContinue', 'optionsSuccessStatus', 'strictPreflight'],
]

/**
 * Lets browsers call the services from other origins: `app.configure(cors({ origin: [...] }))`.
 * Without it no origin is allowed. At the start a warning names each regular expression that may
 * allow others than those that are meant.
 * @throws {TypeError} an unknown option; an `origin` that is `undefined`; credentials together with
 *   every origin; when configured, a second time
 * @see https://github.com/fastify/fastify-cors for the options
 */
export function cors(options: FastifyCorsOptions = {}): Configurator {
  checkFactoryCall('cors', options)
  checkOptionNames('cors()', options, CORS_NAMES)
  if ('origin' in options && options.origin === undefined) {
    throw new TypeError("cors(): 'origin' is undefined; left out it stands for every origin")
  }
  const { origin = '*', credentials } = options
  if (credentials === true && allowsEveryOrigin(origin)) {
    throw new TypeError('cors() with credentials needs a list of origins, not every origin')
  }
  const resolved = withDefaults(CORS_DEFAULTS, options)
  const add = addOnce('cors', options, async (server) => {
    // Loaded only where it is wanted: a server without it starts sooner.
    const { default: fastifyCors } = await import('@fastify/cors')
    await server.register(fastifyCors, () => (request: FastifyRequest, callback: CorsCallback) => {
      // An OPTIONS request that asks for no other one asks for the methods of a service.
      const { origin, 'access-control-request-method': wanted } = request.headers
      const isPlain = origin === undefined || wanted === undefined
      callback(null, isPlain ? { ...resolved, preflight: false } : resolved)
    })
  })
  return createConfigurator('cors', options, (app: WithServer) => {
    add(app)
    warnOfOrigins(app, origin)
  })
}

/** At the start, as the logger may be set until then. */
function warnOfOrigins(app: WithServer & { readonly logger?: Logger }, origin: unknown): void {
  const found = findOriginFaults(origin)
  if (found.length === 0) return
  app.fastify.addHook('onReady', async () => {
    for (const { pattern, faults } of found) {
      const message = `An origin of cors() may allow others than are meant: ${faults.join(', ')}`
      app.logger?.warn({ origin: String(pattern) }, message)
    }
  })
}

/**
 * Compresses answers that are worth it. Answers that must not be stored are sent as they are, since
 * compressing a secret beside reflected input tells it; compressed request bodies are refused.
 * @throws {TypeError} when configured, a second time
 * @see https://github.com/fastify/fastify-compress for the options
 */
export function compress(options: FastifyCompressOptions = {}): Configurator {
  return addOnce('compress', options, async (server) => {
    // The only way to except an answer is what clients say; this hook runs before the plugin's.
    server.addHook('onSend', (request, reply, payload, done) => {
      const isPrivate = String(reply.getHeader('cache-control') ?? '').includes('no-store')
      if (isPrivate) request.headers['x-no-compression'] = 'true'
      done(null, payload)
    })
    const { default: fastifyCompress } = await import('@fastify/compress')
    await server.register(
      fastifyCompress,
      withDefaults<FastifyCompressOptions>({ globalDecompression: false }, options),
    )
  })
}

const CONFIGURED = { cors: new WeakSet<object>(), compress: new WeakSet<object>() } as const

/** Returns the configurator for a plugin that a server can have once. */
function addOnce(
  name: keyof typeof CONFIGURED,
  options: object,
  plugin: ServerPlugin,
): Configurator {
  const add = addServerPlugin(plugin)
  return createConfigurator(name, options, (app: WithServer) => {
    if (CONFIGURED[name].has(app.fastify)) {
      throw new TypeError(`${name}() is configured already, and a server can have it once`)
    }
    add(app)
    CONFIGURED[name].add(app.fastify)
  })
}
