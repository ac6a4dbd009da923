import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OptionRules } from '../core/options/option-check.ts'
import { OPTION } from '../core/options/option-check.ts'
import { isPlainObject } from '../core/value-kind.ts'
import type { ErrorHandlerOptions } from './errors/error-handler.ts'
import { ERROR_HANDLER_RULES } from './errors/error-handler.ts'
import type { NotFoundOptions } from './errors/not-found.ts'
import { NOT_FOUND_RULES } from './errors/not-found.ts'
import type { ParseAuthenticationOptions } from './parse-authentication.ts'
import { PARSE_AUTHENTICATION_RULES } from './parse-authentication.ts'
import type { QueryOptions, QueryParser } from './parsing/query-string.ts'
import { QUERY_RULES } from './parsing/query-string.ts'
import type { FormOptions, JsonOptions } from './parsing/request-body.ts'
import { FORM_RULES, JSON_RULES } from './parsing/request-body.ts'
import { isPrefix } from './routing/service-router.ts'
import type { FeatureOptions } from './transport-features.ts'
import { FEATURE_RULES } from './transport-features.ts'

/** Writes the response to a call: it reads `reply.data` and `reply.hook`, and sends or returns it. */
export type Formatter = (request: FastifyRequest, reply: FastifyReply) => unknown

/** Options of the REST transport, for both the plugin and `rest()`. */
export interface RestOptions extends FeatureOptions {
  /**
   * The prefix of all services and of the page of `openapi()`: `'/api'`. Segments may be placeholders. Default: none.
   */
  readonly prefix?: string
  /** Limits for query strings, or a custom parser. */
  readonly query?: QueryOptions | QueryParser
  /** Limits for JSON bodies. */
  readonly json?: JsonOptions
  /** Limits for URL-encoded bodies. */
  readonly urlencoded?: FormOptions
  /** Writes the responses. Default: JSON. */
  readonly formatter?: Formatter | null
  /** How errors are returned and logged. */
  readonly errorHandler?: ErrorHandlerOptions
  /**
   * Where credentials are read, `false` for nowhere; `parseAuthentication()` adds to it. Default: the default
   * authentication service.
   */
  readonly authentication?:
    | ParseAuthenticationOptions
    | readonly ParseAuthenticationOptions[]
    | false
  /** The response for unknown paths. */
  readonly notFound?: NotFoundOptions
  /**
   * Time limit for a call, in milliseconds, after which it returns 503; 0 for no limit. Default: 30,000 on a server
   * that we create, 0 in the plugin.
   */
  readonly handlerTimeoutMs?: number
  /**
   * Whether `/health/live` and `/health/ready` are served. Default: true for `rest()`, without its prefix; false in the
   * plugin, where true serves them below its prefix.
   */
  readonly health?: boolean
  /**
   * Whether `POST /users/ping` also calls the custom method `ping`, without the header `X-Service-Method`. Any other
   * name there then returns 405. Default: false.
   */
  readonly methodPaths?: boolean
  /**
   * Whether `find` also accepts its query as a body, for queries too long for a URL: by `POST` with `X-Service-Method:
   * find`, and by the verb `QUERY`. Default: false.
   */
  readonly queryBodies?: boolean
}

/** The rules of every option of `rest()`. */
export const REST_RULES: Readonly<Record<keyof RestOptions, OptionRules[string]>> = {
  prefix: {
    expected:
      "a path of literals and ':placeholders' without a slash at its end, '/api' for example",
    isValid: isPrefix,
  },
  query: {
    expected: 'an object of limits, or a function that parses a query',
    isValid: (value) => isPlainObject(value) || typeof value === 'function',
    keys: QUERY_RULES,
  },
  json: { ...OPTION.object, keys: JSON_RULES },
  urlencoded: { ...OPTION.object, keys: FORM_RULES },
  formatter: {
    expected: 'a function (request, reply) or null',
    isValid: (value) => value === null || typeof value === 'function',
  },
  errorHandler: { ...OPTION.object, keys: ERROR_HANDLER_RULES },
  authentication: {
    expected: 'an object, a list of objects, or false',
    isValid: (value) => value === false || [value].flat().every(isPlainObject),
    keys: PARSE_AUTHENTICATION_RULES,
  },
  notFound: { ...OPTION.object, keys: NOT_FOUND_RULES },
  handlerTimeoutMs: OPTION.limit,
  ...FEATURE_RULES,
  health: OPTION.boolean,
  methodPaths: OPTION.boolean,
  queryBodies: OPTION.boolean,
}
