import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { HookContext, HttpAnswer } from '../core/index.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Returns the status of an answer: that of the hook, 303 with a location, 204 for no body, 201 for
 * `create`, else 200. Of the values that are falsy only `null` and `undefined` are no body.
 */
export function toStatus(context: HookContext, body: unknown): number {
  const { http } = context
  if (http.status !== undefined) return http.status
  if (http.location !== undefined || http.headers?.['Location'] !== undefined) return 303
  if (body === undefined || body === null) return 204
  return context.method === 'create' ? 201 : 200
}

/** Sets what hooks said about the answer. @throws {TypeError} a name or value that HTTP can't carry */
export function setHeaders(reply: FastifyReply, http: HttpAnswer): void {
  for (const [name, value] of Object.entries(http.headers ?? {})) {
    validateHeaderName(name)
    for (const item of [value].flat()) validateHeaderValue(name, String(item))
    reply.header(name, value)
  }
  if (http.location !== undefined) reply.header('location', encodeLocation(http.location))
}

/** Sends a body as JSON; `null` and `undefined` as no body, streams and bytes as they are. */
export function sendBody(reply: FastifyReply, body: unknown): void {
  reply.header('x-content-type-options', 'nosniff')
  if (body === undefined || body === null) reply.send()
  else if (typeof body === 'object') reply.send(body)
  else reply.header('content-type', JSON_TYPE).send(JSON.stringify(body))
}

/** Percent-encodes what a URL can't hold, and leaves alone what is encoded already. */
function encodeLocation(location: string): string {
  return encodeURI(location).replace(/%25([0-9a-f]{2})/gi, '%$1')
}
