import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAuthentication } from '../../auth/default-authentication.ts'
import { redactText } from '../logging/redact.ts'
import type { LoginPaths } from '../routing/login-paths.ts'
import { addVary } from './headers.ts'

/** Keeps an answer out of caches, and with that from being compressed. */
export function setPrivate(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  // An answer that fails half-way is made twice.
  if (!String(reply.getHeader('vary') ?? '').includes('authorization')) {
    addVary(reply, 'authorization')
  }
}

/** Whether the answer of a service is for one caller only: of a login, or to credentials. */
export function isPrivate(
  service: object | undefined,
  caller: unknown,
  { headers }: Pick<FastifyRequest, 'headers'>,
): boolean {
  // The header itself too: an error may come before anything is read from it.
  return (
    caller !== undefined ||
    headers.authorization !== undefined ||
    (service !== undefined && isAuthentication(service))
  )
}

/**
 * Keeps an answer that no service has made, an error for example, out of caches where the request
 * holds credentials or is for an authentication service. Not for answers that go well: it reads the
 * URL letter by letter.
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
