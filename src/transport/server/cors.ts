import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import { checkFactoryCall } from '../../core/options/configurator.ts'
import { checkOptionNames, withDefaults } from '../../core/options/option-check.ts'
import type { Configurator, ServerPlugin } from './server-setup.ts'
import { createServerConfigurator } from './server-setup.ts'

type CorsCallback = (error: Error | null, options: FastifyCorsOptions) => void

/** What a browser may send when nothing else is said: the verbs and headers of services. */
const CORS_DEFAULTS: FastifyCorsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: ['Accept', 'Authorization', 'Content-Type', 'X-Service-Method'],
}

/** The options of the plugin that it takes for each request. */
const CORS_NAMES: readonly string[] = [
  ...['origin', 'methods', 'allowedHeaders', 'exposedHeaders', 'credentials', 'maxAge'],
  ...['cacheControl', 'preflight', 'preflightContinue', 'optionsSuccessStatus', 'strictPreflight'],
]

/**
 * Lets browsers call the services from other origins: `app.configure(cors({ origin: [...] }))`.
 * Without it no origin is allowed.
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
  const plugin: ServerPlugin = async (server) => {
    // Loaded only where it is wanted: a server without it starts sooner.
    const { default: fastifyCors } = await import('@fastify/cors')
    await server.register(fastifyCors, () => (request: FastifyRequest, callback: CorsCallback) => {
      // An OPTIONS request without these headers is no preflight: it asks for the methods of a
      // service.
      const { origin, 'access-control-request-method': wanted } = request.headers
      const isPlain = origin === undefined || wanted === undefined
      callback(null, isPlain ? { ...resolved, preflight: false } : resolved)
    })
  }
  return createServerConfigurator('cors', options, (app) => {
    app.serverSetup.addUniquePlugin('cors', plugin)
  })
}

/**
 * Origins of sites that have nothing in common: an expression that matches all of them
 * matches anything.
 */
const STRANGERS = ['https://a.invalid', 'http://b.test:8080']

/**
 * Whether the option `origin` allows every site: by `'*'`, by an expression that matches anything,
 * or by a value like `true`. Functions can't be judged.
 */
function allowsEveryOrigin(origin: unknown): boolean {
  return [origin].flat(Number.POSITIVE_INFINITY).some((one: unknown) => {
    if (typeof one === 'string') return one === '*'
    if (one instanceof RegExp) return STRANGERS.every((stranger) => stranger.search(one) !== -1)
    return typeof one !== 'function' && Boolean(one)
  })
}
