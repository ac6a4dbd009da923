import type { FastifyReply, FastifyRequest } from 'fastify'
import { redactText } from '../logging/redact.ts'
import type { LoginPaths } from '../routing/login-paths.ts'
import { addVary } from './headers.ts'

/** Keeps an answer out of caches, and with that from being compressed. */
export function setPrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  // This runs twice for an answer that fails half-way.
  if (!String(reply.getHeader('vary') ?? '').includes('authorization')) {
    addVary(reply, 'authorization')
  }
}

/**
 * Whether an answer is for one caller only: that of an authentication service, or one
 * to credentials.
 */
export function isPrivate(
  isLogin: boolean,
  caller: unknown,
  { headers }: Pick<FastifyRequest, 'headers'>,
): boolean {
  // The header counts too, since an error may come before it is read.
  return isLogin || caller !== undefined || headers.authorization !== undefined
}

/**
 * Keeps an answer that no service has made, an error for example, out of caches where the request
 * holds credentials or is for an authentication service. It searches the whole URL, which would be
 * too slow for successful answers.
 */
export function keepPrivate(
  loginPaths: LoginPaths,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const url = request.raw.url ?? ''
  const hasCredentials = request.headers.authorization !== undefined || redactText(url) !== url
  if (hasCredentials || loginPaths.includes(url)) setPrivate(reply)
}
