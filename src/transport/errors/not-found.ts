import type { FastifyRequest } from 'fastify'
import type { ErrorJSON } from '../../core/index.ts'
import { NotFound } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
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

/** What clients of Socket.IO get, and the log, where nothing is served at the path that they ask for by default. */
export const SOCKETS_HINT =
  'Socket.IO is not served here: npm install socket.io, then app.configure(socketio()) of remex/socketio'

/** Whether a client of Socket.IO asks: the server of Socket.IO, where there is one, takes exactly these URLs. */
export function isSocketUrl(url: string): boolean {
  return url.startsWith('/socket.io/')
}

/**
 * Returns the body of the error for a path that nothing is served at; its data holds the URL with the
 * query. Not the error itself, which few answers need and which costs more than the rest of them.
 */
export function toNotFoundBody(
  { originalUrl }: Pick<FastifyRequest, 'originalUrl'>,
  { verbose }: NotFoundOptions,
): ErrorJSON & { data: { url: string } } {
  const url = redactUrl(originalUrl)
  const slashesHint = hasEmptySegment(originalUrl) ? SLASHES_HINT : ''
  const hint = isSocketUrl(originalUrl) ? `. ${SOCKETS_HINT}` : slashesHint
  const { name, code, className } = NotFound
  const message = `Page not found${verbose ? `: ${url}` : ''}${hint}`
  return { name, message, code, className, data: { url } }
}

function hasEmptySegment(url: string): boolean {
  return url.includes('//') && toPath(url, DEFAULT_ROUTING).includes('//')
}
