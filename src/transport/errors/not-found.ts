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

/** Clients whose base URL ends in a slash request `//users`, and the cause is hard to see. */
const SLASHES_HINT = ' (a path has one slash before each segment)'

/** The message for clients of Socket.IO, and for the log, if nothing is served at the default path of Socket.IO. */
export const SOCKETS_HINT =
  'Socket.IO is not served here: npm install socket.io, then app.configure(socketio()) of remex/socketio'

/** Returns whether the URL is one of a Socket.IO client; a server of Socket.IO handles exactly these. */
export function isSocketUrl(url: string): boolean {
  return url.startsWith('/socket.io/')
}

/**
 * Returns the body of the 404 error for a path without a service; its data holds the URL with the query. The error
 * itself is not created: few responses need it, and it costs more than the rest of them.
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
