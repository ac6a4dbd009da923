import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthenticationHttpRequest } from '../auth/authentication.ts'
import { findAuthentication, isAuthentication } from '../auth/default-authentication.ts'
import type { AuthenticateOptions } from '../auth/hooks/authenticate.ts'
import {
  authenticate,
  authenticateParams,
  checkAuthenticate,
  describeProof,
} from '../auth/hooks/authenticate.ts'
import { OptionError } from '../core/errors/setup-errors.ts'
import { describeFunction } from '../core/function-metadata.ts'
import type { AnyApplication, Application, AuthenticationRequest, Params } from '../core/index.ts'
import { toServicePath } from '../core/index.ts'
import type { OptionRule } from '../core/options/option-check.ts'
import { OPTION } from '../core/options/option-check.ts'
import { setPrivate } from './replies/headers.ts'
import { toRequestUrl } from './request-params.ts'

/** Which authentication service reads the credentials of a request, and how. */
export interface ParseAuthenticationOptions {
  /** Path of the authentication service. Default: the default one. */
  readonly service?: string
  /** Names of the strategies that read the request. Default: `parseStrategies` of the service. */
  readonly strategies?: readonly string[]
  /**
   * Also accepts a token in the query parameter `access_token`, for links that a browser follows. It does not reach
   * `params.query`; the response is not cached and its URL is not sent as a referrer. Default: false.
   */
  readonly queryToken?: boolean
}

type Caller = AuthenticationRequest | null

export const PARSE_AUTHENTICATION_RULES: Readonly<
  Record<keyof ParseAuthenticationOptions, OptionRule>
> = {
  service: OPTION.string,
  strategies: OPTION.stringList,
  queryToken: OPTION.boolean,
}

/** Returns the option `authentication` as a list: the services are tried in this order. */
export function toSources(
  option: ParseAuthenticationOptions | readonly ParseAuthenticationOptions[] | false = {},
): readonly ParseAuthenticationOptions[] {
  return option === false ? [] : [option].flat()
}

/**
 * Checks that each of the services exists, as otherwise every request would fail.
 * @throws {TypeError} there is no authentication service at the path
 */
export function checkSources(
  app: Application,
  sources: readonly ParseAuthenticationOptions[],
): void {
  for (const { service: path } of sources) {
    if (path === undefined) continue
    const entry = app.entries.get(toServicePath(path))
    if (entry !== undefined && isAuthentication(entry.service)) continue
    throw new OptionError(
      `'authentication.service' is '${path}', where no authentication service is`,
    )
  }
}

/** A request as strategies see it. Most of them never read its URL. */
class ParsedRequest implements AuthenticationHttpRequest {
  readonly headers: FastifyRequest['headers']
  readonly method: string
  readonly #request: FastifyRequest

  constructor(request: FastifyRequest) {
    this.headers = request.headers
    this.method = request.method
    this.#request = request
  }

  get url(): string | undefined {
    return toRequestUrl(this.#request)
  }
}

/**
 * Returns what the strategies of the services read from the headers of a request, from the first service that finds
 * something; `null` if none does. Verifies nothing. Returns no promise if the strategies parse synchronously.
 */
export function parseCaller(
  app: Application,
  sources: readonly ParseAuthenticationOptions[],
  request: FastifyRequest,
  reply: FastifyReply,
): Caller | Promise<Caller> {
  for (let index = 0; index < sources.length; index += 1) {
    const source = sources[index] as ParseAuthenticationOptions
    const service = findAuthentication(app, source.service)
    const strategies = source.strategies ?? service?.parseStrategies ?? []
    if (service === null || strategies.length === 0) continue
    const parsed = service.parse(new ParsedRequest(request), reply, ...strategies)
    if (parsed instanceof Promise) {
      const others = sources.slice(index + 1)
      return parsed.then((caller) => caller ?? parseCaller(app, others, request, reply))
    }
    if (parsed !== null) return parsed
  }
  return null
}

/**
 * Returns a `preHandler` that protects a plain route of Fastify as the `authenticate` hook protects a service:
 * `server.get('/me', { preHandler: authenticateRequest(app, 'jwt') }, handler)`. The handler finds the caller in
 * `request.feathers`: `{ authentication, user, … }`. Errors go to the error handler of the route; they have a
 * `statusCode`, which Fastify's own handler uses.
 * @throws {TypeError} no strategy is given; when the application is set up, there is none of this name
 * @throws {NotAuthenticated} in requests: no strategy authenticates the caller
 */
export function authenticateRequest(
  app: AnyApplication,
  first: string | AuthenticateOptions,
  ...others: string[]
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const untyped = app as unknown as Application
  // Called to check the strategies, so that a mistake shows at startup.
  authenticate(first, ...others)
  const options = typeof first === 'object' ? first : { strategies: [first, ...others] }
  const place = { app: untyped, service: undefined, group: 'around', label: 'a route' } as const
  untyped.hooks({
    setup: async (_context, next) => {
      await next()
      checkAuthenticate(place, options)
    },
  })
  const guard = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    setPrivate(reply)
    const known = request.feathers['authentication'] as Params['authentication']
    const source = options.service === undefined ? {} : { service: options.service }
    const caller = known ?? (await parseCaller(untyped, [source], request, reply)) ?? undefined
    const { feathers, headers, ip: address } = request
    const params = { ...feathers, headers, address, authentication: caller, provider: 'rest' }
    request.feathers = { ...(await authenticateParams(untyped, params, options)) }
  }
  return describeFunction(guard, describeProof(options))
}
