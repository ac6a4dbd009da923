import { isIPv4 } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OptionError, OrderError } from '../../core/errors/setup-errors.ts'
import type { AnyApplication } from '../../core/index.ts'
import { isFromDeveloper } from '../../core/local-request.ts'
import { isDevelopment } from '../../core/node-env.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import { findStreams } from '../finds/request-streams.ts'
import type { RestTransport } from '../rest-transport.ts'
import { hasRoute } from '../routing/request-path.ts'
import type { ScopePart } from '../scope-parts.ts'
import { addScopePart, listScopeParts } from '../scope-parts.ts'
import type { ObservedCall } from './call-channel.ts'
import { followCalls } from './call-channel.ts'
import { describeServices } from './described-services.ts'

/** Options of `developerPage()`. */
export interface DeveloperPageOptions {
  /** The path of the page. Default: `'/'`, or `'/developer'` if `'/'` is taken. */
  readonly path?: string
}

const RULES: OptionRules = {
  path: {
    expected: "a path of plain segments, '/developer' for example",
    isValid: (value) =>
      typeof value === 'string' && /^\/[\w./~-]*$/.test(value) && !/\/\/|.\/$/.test(value),
  },
}

/** The default paths; the second is used if the first is taken. */
const PATHS = ['/', '/developer'] as const

/** How many calls are shown. */
const MAX_CALLS = 100

const NOT_SERVED =
  'The page for developers is not served, because NODE_ENV is not set: start with NODE_ENV=development'

interface WithServer {
  /** The server of an application that has one. */
  readonly fastify?: FastifyInstance
}

/**
 * Serves a page at `/` with the services, their methods, hooks and schemas, the open streams, and the last 100 calls of
 * the process: `app.configure(developerPage())`. The page exists only if `NODE_ENV` is `development`, and only for
 * browsers on the same machine.
 * @throws {TypeError} an option is unknown or invalid; when configured, a second time, or after the start
 */
export function developerPage(options: DeveloperPageOptions = {}): (app: AnyApplication) => void {
  const configure = createConfigurator(
    'developerPage',
    options,
    (app: AnyApplication & WithServer) => {
      if (app.fastify?.server.listening === true) {
        throw new OrderError('developerPage(): the application has started: configure it before')
      }
      if (listScopeParts(app).some((part) => part instanceof DeveloperPage)) {
        throw new OrderError('developerPage(): the application has one already')
      }
      if (isDevelopment()) addScopePart(app, new DeveloperPage(options))
      else if (!process.env['NODE_ENV']) app.logger.info({}, NOT_SERVED)
    },
  )
  checkOptions('developerPage()', options, RULES)
  return configure
}

/** An ended call, as the page shows it. */
interface EndedCall extends ObservedCall {
  /** When it ended, in ms since the epoch. */
  readonly endedAt: number
}

class DeveloperPage implements ScopePart {
  readonly #path: string | undefined
  /** Oldest first. */
  readonly #calls: EndedCall[] = []

  constructor({ path }: DeveloperPageOptions) {
    this.#path = path
  }

  /**
   * Serves the page and its data.
   * @param scope that of the services, which already have their routes
   * @throws {TypeError} there is a route at the path
   */
  addAfter(scope: FastifyInstance, { app, logger }: RestTransport): void {
    const path = this.#findPath(scope)
    const [below, base] = path === PATHS[0] ? [PATHS[1], PATHS[1]] : ['', path]
    const add = (url: string, answer: (reply: FastifyReply) => unknown): void => {
      scope.get(url, { logLevel: 'warn' }, (request, reply) => {
        if (!isOfThisMachine(request)) return reply.callNotFound()
        reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
        return answer(reply)
      })
    }
    add(path, async (reply) => {
      // Loaded only when the page is opened.
      const { CONTENT_SECURITY_POLICY, toHtml } = await import('./developer-page-html.ts')
      reply.type('text/html; charset=utf-8')
      reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
      return toHtml(below)
    })
    add(`${base}/services.json`, () => describeServices(app))
    add(`${base}/calls.json`, async () => ({
      calls: this.#calls.toReversed(),
      streams: findStreams(app)?.countByPath() ?? {},
    }))
    this.#follow(scope)
    scope.addHook('onListen', (done) => {
      logger.info({ path: `${scope.prefix}${path}` }, 'The page for developers is served')
      done()
    })
  }

  #findPath(scope: FastifyInstance): string {
    const isTaken = (path: string): boolean =>
      hasRoute(scope, 'GET', path) || (path === '/' && hasRoute(scope, 'GET', '/*'))
    const wanted = this.#path === undefined ? PATHS : [this.#path]
    const free = wanted.find((path) => !isTaken(path))
    if (free !== undefined) return free
    throw new OptionError(
      `developerPage(): there is a route at '${wanted.at(-1)}': set the option 'path'`,
    )
  }

  #follow(scope: FastifyInstance): void {
    const stop = followCalls((call) => {
      this.#calls.push({ ...call, endedAt: Date.now() })
      if (this.#calls.length > MAX_CALLS) this.#calls.shift()
    })
    scope.addHook('onClose', async () => stop())
  }
}

/**
 * Returns whether the request comes from this machine, sent by a page of this server or by a typed address. Another
 * site may send requests through a developer's browser, even under its own host name (DNS rebinding).
 */
function isOfThisMachine({ raw }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site = 'none' } = raw.headers
  return (
    isLoopback(raw.socket.remoteAddress ?? '') &&
    (site === 'none' || site === 'same-origin') &&
    isFromDeveloper(raw.headers)
  )
}

function isLoopback(address: string): boolean {
  const bare = address.replace(/^::ffff:/, '')
  return address === '::1' || (isIPv4(bare) && bare.startsWith('127.'))
}
