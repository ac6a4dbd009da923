import type { FastifyReply, FastifyRequest } from 'fastify'
import { findAuthentication, isAuthentication } from '../auth/default-authentication.ts'
import type { Application, AuthenticationRequest, Query } from '../core/index.ts'
import { toServicePath } from '../core/index.ts'
import type { OptionRule } from '../core/options/option-check.ts'
import { OPTION } from '../core/options/option-check.ts'
import { setPrivate } from './replies/private-reply.ts'

/** Which authentication service reads the credentials of a request, and how. */
export interface ParseAuthenticationOptions {
  /** Path of the authentication service. Default: the default one. */
  readonly service?: string
  /** Names of the strategies that read the request. Default: `parseStrategies` of the service. */
  readonly strategies?: readonly string[]
  /**
   * Accepts a token in the query parameter `access_token` too, for links that a browser follows. It
   * does not reach `params.query`; the answer is not cached and its URL not sent on as a referrer.
   * Default: false.
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

/** Returns the option `authentication` as a list: the services are asked in this order. */
export function toSources(
  option: ParseAuthenticationOptions | readonly ParseAuthenticationOptions[] | false = {},
): readonly ParseAuthenticationOptions[] {
  return option === false ? [] : [option].flat()
}

/**
 * Checks that each of the services exists, without which no request could be answered.
 * @throws {TypeError} the path is that of no authentication service
 */
export function checkSources(
  app: Application,
  sources: readonly ParseAuthenticationOptions[],
): void {
  for (const { service: path } of sources) {
    if (path === undefined) continue
    const entry = app.entries.get(toServicePath(path))
    if (entry !== undefined && isAuthentication(entry.service)) continue
    throw new TypeError(`'authentication.service' is '${path}', where no authentication service is`)
  }
}

/** The query parameter of links with a token. */
const TOKEN_PARAMETER = 'access_token'

/**
 * Returns what the strategies of the first service that finds something read from the headers of a
 * request, `null` for nothing. Nothing is verified. Where the strategies parse without waiting
 * there is no promise.
 */
export function parseCaller(
  app: Application,
  sources: readonly ParseAuthenticationOptions[],
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
): Caller | Promise<Caller> {
  for (let index = 0; index < sources.length; index += 1) {
    const source = sources[index] as ParseAuthenticationOptions
    const service = findAuthentication(app, source.service)
    const strategies = source.strategies ?? service?.parseStrategies ?? []
    if (service === null || strategies.length === 0) continue
    const parsed = service.parse({ headers }, reply, ...strategies)
    if (parsed instanceof Promise) {
      const others = sources.slice(index + 1)
      return parsed.then((caller) => caller ?? parseCaller(app, others, { headers }, reply))
    }
    if (parsed !== null) return parsed
  }
  return null
}

/**
 * Removes the token of a link from a query, where links may carry one. Returns it as an
 * authentication request, `null` for none. The answer to a link with a token is not cached in
 * either case.
 */
export function takeQueryToken(query: Query, isAccepted: boolean, reply: FastifyReply): Caller {
  const { [TOKEN_PARAMETER]: accessToken } = query
  if (accessToken === undefined) return null
  setPrivate(reply)
  if (!isAccepted) return null
  delete query[TOKEN_PARAMETER]
  reply.header('referrer-policy', 'no-referrer')
  return typeof accessToken === 'string' ? { strategy: 'jwt', accessToken } : null
}
