import type { FastifyRequest } from 'fastify'
import { NotFound } from '../core/index.ts'
import { redactUrl } from './redact.ts'

/** Options of `notFound()`. */
export interface NotFoundOptions {
  /** Whether the message names the URL. Default: false. */
  readonly verbose?: boolean
}

/** Longest URL that an error repeats. */
const LONGEST_URL = 2_048

/** Returns the error for a path that nothing is served at; its data holds the URL with the query. */
export function toNotFound(request: FastifyRequest, { verbose }: NotFoundOptions): NotFound {
  const url = redactUrl(request.originalUrl.slice(0, LONGEST_URL))
  return new NotFound(verbose ? `Page not found: ${url}` : 'Page not found', { url })
}
