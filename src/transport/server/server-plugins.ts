// biome-ignore lint/suspicious/noTsIgnore: it is for the declarations, where the package may be missing.
/** @ts-ignore Its package is optional: without it, the options have the type `any`. */
import type { FastifyCompressOptions } from '@fastify/compress'
import type { FastifyCorsOptions } from '@fastify/cors'
// biome-ignore lint/suspicious/noTsIgnore: it is for the declarations, where the package may be missing.
/** @ts-ignore Its package is optional: without it, the options have the type `any`. */
import type { FastifyStaticOptions } from '@fastify/static'
import type { FastifyInstance, FastifyRequest, preHandlerHookHandler } from 'fastify'
import { OptionError } from '../../core/errors/setup-errors.ts'
import { listTerms } from '../../core/function-metadata.ts'
import { stripSlashes } from '../../core/index.ts'
import { checkOptionNames, withDefaults } from '../../core/options/option-check.ts'
import { askToInstall } from '../missing-package.ts'
import { QUERY } from '../parsing/query-verbs.ts'
import { setEncodable } from '../replies/headers.ts'
import { REST_FEATURES } from '../rest-features.ts'
import type { RestOptions } from '../rest-options.ts'
import { getRouting, toPath } from '../routing/request-path.ts'
import type { Configurator, ServerSetup } from './server-setup.ts'
import { createServerConfigurator } from './server-setup.ts'

/**
 * Returns the configurator for a Fastify plugin. The plugin is loaded only if it is used: a server without it starts
 * sooner.
 * @throws {TypeError} an option is unknown
 */
function createPluginConfigurator(
  name: 'cors' | 'compress' | 'serveStatic',
  options: object,
  names: readonly string[],
  plugin: (server: FastifyInstance, setup: ServerSetup) => Promise<void>,
): Configurator {
  const configure = createServerConfigurator(name, options, ({ serverSetup }) => {
    if (name !== 'serveStatic') serverSetup.configureOnce(name)
    serverSetup.addPlugin((server) => plugin(server, serverSetup))
  })
  checkOptionNames(`${name}()`, options, names)
  return configure
}

type CorsCallback = (error: Error | null, options: FastifyCorsOptions) => void

/** The headers of requests for services; features add theirs. */
const HEADERS = ['Accept', 'Authorization', 'Content-Type', 'Idempotency-Key', 'X-Service-Method']

/** The default headers and verbs that a browser may send: the headers of services, and {@link listVerbs}. */
const CORS_DEFAULTS: FastifyCorsOptions = {
  allowedHeaders: [
    ...HEADERS,
    ...REST_FEATURES.flatMap(listTerms).flatMap(({ header }) => header?.name ?? []),
  ].toSorted(),
}

/** Returns the verbs of services: with `QUERY` if they accept queries as bodies. */
function listVerbs({ queryBodies = false }: RestOptions): string[] {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', ...(queryBodies ? [QUERY] : [])]
}

/** The options that the plugin accepts per request. */
const CORS_NAMES: readonly string[] = [
  ...['origin', 'methods', 'allowedHeaders', 'exposedHeaders', 'credentials', 'maxAge'],
  ...['cacheControl', 'preflight', 'preflightContinue', 'optionsSuccessStatus', 'strictPreflight'],
]

/**
 * Returns a function for `app.configure()` that lets browsers call the services from other origins:
 * `app.configure(cors({ origin: [...] }))`. Without it no origin is allowed.
 * @throws {TypeError} an option is unknown; `origin` is `undefined`; credentials are combined with every origin; when
 *   configured, a second time
 * @see https://github.com/fastify/fastify-cors for the options
 */
export function cors(options: FastifyCorsOptions = {}): Configurator {
  const configure = createPluginConfigurator('cors', options, CORS_NAMES, async (server, setup) => {
    const { default: fastifyCors } = await import('@fastify/cors')
    await server.register(fastifyCors, () => (request: FastifyRequest, callback: CorsCallback) => {
      // An OPTIONS request without these headers is not a preflight: it asks what a service offers.
      const { origin, 'access-control-request-method': wanted } = request.headers
      const isPlain = origin === undefined || wanted === undefined
      if (isPlain) callback(null, { ...resolved, preflight: false })
      else callback(null, { methods: listVerbs(setup.restOptions), ...resolved })
    })
  })
  const resolved = withDefaults(CORS_DEFAULTS, options)
  if ('origin' in options && options.origin === undefined) {
    throw new OptionError("cors(): 'origin' is undefined; left out it stands for every origin")
  }
  const { origin = '*', credentials } = options
  if (credentials === true && allowsEveryOrigin(origin)) {
    throw new OptionError('cors() with credentials needs a list of origins, not every origin')
  }
  return configure
}

/** Origins that have nothing in common: an expression that matches both matches anything. */
const STRANGERS = ['https://a.invalid', 'http://b.test:8080']

/**
 * Returns whether the option `origin` allows every site: by `'*'`, by an expression that matches anything, or by a
 * value like `true`. Functions cannot be checked.
 */
function allowsEveryOrigin(origin: unknown): boolean {
  return [origin].flat(Number.POSITIVE_INFINITY).some((one: unknown) => {
    if (typeof one === 'string') return one === '*'
    if (one instanceof RegExp) return STRANGERS.every((stranger) => stranger.search(one) !== -1)
    return typeof one !== 'function' && Boolean(one)
  })
}

const COMPRESS_OPTIONS: readonly string[] = [
  ...['global', 'globalCompression', 'globalDecompression', 'threshold', 'syncThreshold'],
  ...['encodings', 'requestEncodings', 'forceRequestEncoding', 'customTypes', 'zlib'],
  ...['zlibOptions', 'brotliOptions', 'inflateIfDeflated', 'onUnsupportedEncoding'],
  ...['onUnsupportedRequestEncoding', 'onInvalidRequestPayload', 'removeContentLengthHeader'],
]

/**
 * Returns a function for `app.configure()` that compresses responses. Responses with `no-store` are sent uncompressed:
 * the size of a compressed response that contains both a secret and part of the request reveals the secret (BREACH).
 * Compressed request bodies are rejected. Needs the package `@fastify/compress`.
 * @throws {TypeError} an option is unknown; when configured, a second time
 * @see https://github.com/fastify/fastify-compress for the options
 */
export function compress(options: FastifyCompressOptions = {}): Configurator {
  return createPluginConfigurator('compress', options, COMPRESS_OPTIONS, async (server) => {
    // The plugin skips a response only by this request header; this hook runs before the plugin's.
    server.addHook('onSend', (request, reply, payload, done) => {
      const isPrivate = String(reply.getHeader('cache-control') ?? '').includes('no-store')
      if (isPrivate) request.headers['x-no-compression'] = 'true'
      else setEncodable(reply)
      done(null, payload)
    })
    const { default: fastifyCompress } = await import('@fastify/compress').catch(
      askToInstall('compress()', '@fastify/compress'),
    )
    await server.register(
      fastifyCompress,
      withDefaults<FastifyCompressOptions>({ globalDecompression: false }, options),
    )
  })
}

/** Excludes options for the routes of other plugins. */
const STATIC_OPTIONS: readonly string[] = [
  ...['root', 'prefix', 'prefixAvoidTrailingSlash', 'decorateReply', 'serve', 'wildcard'],
  ...['globIgnore', 'redirect', 'list', 'allowedPath', 'preCompressed', 'suppressWarning'],
  ...['schemaHide', 'setHeaders', 'acceptRanges', 'contentType', 'cacheControl', 'dotfiles'],
  ...['serveDotFiles', 'etag', 'extensions', 'immutable', 'index', 'lastModified', 'maxAge'],
  ...['onFile', 'constraints', 'logLevel'],
]

/** The values of the option `dotfiles`. */
const DOTFILES: readonly unknown[] = ['allow', 'deny', 'ignore']

/** The only name with a leading dot that is served: a site describes itself to clients there. */
const WELL_KNOWN = '.well-known'

/**
 * Returns a function for `app.configure()` that serves the files of a folder in addition to the services:
 * `app.configure(serveStatic({ root }))`. With several folders, each needs a prefix; `reply.sendFile` uses the first
 * one. Files and folders whose names start with a dot are not served, except below `/.well-known`. The option
 * `dotfiles` applies to all of them: `'allow'` serves them, `'deny'` returns 403, `'ignore'` 404. Needs the package
 * `@fastify/static`.
 * @throws {TypeError} an option is unknown, or `dotfiles` has another value
 * @see https://github.com/fastify/fastify-static for the options
 * @see RFC 8615 for `/.well-known`
 */
export function serveStatic(options: FastifyStaticOptions): Configurator {
  const plugin = async (server: FastifyInstance): Promise<void> => {
    const { default: fastifyStatic } = await import('@fastify/static').catch(
      askToInstall('serveStatic()', '@fastify/static'),
    )
    let isLoading = true
    server.addHook('onRoute', (route) => {
      if (isLoading) route.preHandler = leaveToServices
    })
    const decorateReply = !server.hasReplyDecorator('sendFile')
    await server.register(fastifyStatic, { decorateReply, ...resolved })
    isLoading = false
  }
  const configure = createPluginConfigurator('serveStatic', options, STATIC_OPTIONS, plugin)
  const resolved = withDotfiles(options)
  return configure
}

function withDotfiles(options: FastifyStaticOptions): FastifyStaticOptions {
  const { dotfiles, list, prefix = '/', allowedPath } = options
  if (dotfiles !== undefined) {
    if (DOTFILES.includes(dotfiles)) return options
    throw new OptionError(`serveStatic(): 'dotfiles' must be one of ${DOTFILES.join(', ')}`)
  }
  // A listing would show files that `allowedPath` rejects.
  const isOfOrigin = stripSlashes(prefix) === '' && !list
  if (!isOfOrigin) return { ...options, dotfiles: 'ignore' }
  return {
    ...options,
    dotfiles: 'allow',
    allowedPath: (path, root, request) =>
      isOpen(path) && (allowedPath?.(path, root, request) ?? true),
  }
}

/** Returns whether no name in a path starts with a dot, except the first one in `/.well-known/…`. */
function isOpen(path: string): boolean {
  const names = path.split(/[\\/]/).filter((name) => name !== '')
  const others = names[0] === WELL_KNOWN && names.length > 1 ? names.slice(1) : names
  return others.every((name) => !name.startsWith('.'))
}

/** Leaves paths with repeated slashes to the services: the plugin would reject them. */
const leaveToServices: preHandlerHookHandler = (request, reply, done) => {
  const path = toPath(request.raw.url ?? '', getRouting(request.server))
  if (path.includes('//')) reply.callNotFound()
  else done()
}
