import type { FastifyRequest } from 'fastify'
import { NotFound } from '../../core/index.ts'
import type { OptionRule } from '../../core/option-check.ts'
import { OPTION } from '../../core/option-check.ts'
import { redactUrl } from '../logging/redact.ts'
import { DEFAULT_ROUTING, toPath } from '../routing/request-path.ts'

/** Options of `notFound()`. */
export interface NotFoundOptions {
  /** Whether the message names the URL. Default: false. */
  readonly verbose?: boolean
}

export const NOT_FOUND_RULES: Readonly<Record<keyof NotFoundOptions, OptionRule>> = {
  verbose: OPTION.boolean,
}

/**
 * Clients whose base URL ends in a slash ask for `//users`, and their authors rarely see why
 * that fails.
 */
const SLASHES_HINT = ' (a path has one slash before each segment)'

/**
 * Returns the error for a path that nothing is served at; its data holds the URL with the query.
 */
export function toNotFound(request: FastifyRequest, { verbose }: NotFoundOptions): NotFound {
  const url = redactUrl(request.originalUrl)
  const hint = toPath(request.originalUrl, DEFAULT_ROUTING).includes('//') ? SLASHES_HINT : ''
  return new NotFound(`Page not found${verbose ? `: ${url}` : ''}${hint}`, { url })
}
