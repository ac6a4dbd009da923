import type { FastifyStaticOptions } from '@fastify/static'
import type { preHandlerHookHandler } from 'fastify'
import { stripSlashes } from '../../core/index.ts'
import { checkFactoryCall } from '../../core/options/configurator.ts'
import { checkOptionNames } from '../../core/options/option-check.ts'
import { getRouting, toPath } from '../routing/request-path.ts'
import type { Configurator, ServerPlugin } from './server-setup.ts'
import { createServerConfigurator } from './server-setup.ts'

/** The options of the plugin, without those that are for the routes of other plugins. */
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
 * Serves the files of a folder beside the services: `app.configure(serveStatic({ root }))`. Several
 * folders have a prefix each; `reply.sendFile` is that of the first one. Files and folders whose
 * names begin with a dot are not there for anybody, but for what is below `/.well-known`. The
 * option `dotfiles` says it for all of them: `'allow'` serves them, `'deny'` answers 403,
 * `'ignore'` 404.
 * @throws {TypeError} an unknown option, another value of `dotfiles`
 * @see https://github.com/fastify/fastify-static for the options
 * @see RFC 8615 for `/.well-known`
 */
export function serveStatic(options: FastifyStaticOptions): Configurator {
  checkFactoryCall('serveStatic', options)
  checkOptionNames('serveStatic()', options, STATIC_OPTIONS)
  const resolved = withDotfiles(options)
  const plugin: ServerPlugin = async (server) => {
    const { default: fastifyStatic } = await import('@fastify/static')
    let isLoading = true
    server.addHook('onRoute', (route) => {
      if (isLoading) route.preHandler = leaveToServices
    })
    const decorateReply = !server.hasReplyDecorator('sendFile')
    await server.register(fastifyStatic, { decorateReply, ...resolved })
    isLoading = false
  }
  return createServerConfigurator('serveStatic', options, (app) => {
    app.serverSetup.addPlugin(plugin)
  })
}

function withDotfiles(options: FastifyStaticOptions): FastifyStaticOptions {
  const { dotfiles, list, prefix = '/', allowedPath } = options
  if (dotfiles !== undefined) {
    if (DOTFILES.includes(dotfiles)) return options
    throw new TypeError(`serveStatic(): 'dotfiles' must be one of ${DOTFILES.join(', ')}`)
  }
  // A listing would name files that `allowedPath` refuses.
  const isOfOrigin = stripSlashes(prefix) === '' && !list
  if (!isOfOrigin) return { ...options, dotfiles: 'ignore' }
  return {
    ...options,
    dotfiles: 'allow',
    allowedPath: (path, root, request) =>
      isOpen(path) && (allowedPath?.(path, root, request) ?? true),
  }
}

/** Whether no name of a path begins with a dot, the first one of `/.well-known/…` aside. */
function isOpen(path: string): boolean {
  const names = path.split(/[\\/]/).filter((name) => name !== '')
  const others = names[0] === WELL_KNOWN && names.length > 1 ? names.slice(1) : names
  return others.every((name) => !name.startsWith('.'))
}

/**
 * Leaves paths with repeated slashes to the services: the plugin would refuse them, as no file
 * has one.
 */
const leaveToServices: preHandlerHookHandler = (request, reply, done) => {
  const path = toPath(request.raw.url ?? '', getRouting(request.server))
  if (path.includes('//')) reply.callNotFound()
  else done()
}
