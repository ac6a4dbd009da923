import type { HookContext } from '../../core/index.ts'

/**
 * Returns the status of an answer: `context.http.status`, 303 with a location, 204 without a
 * body, 201 for `create`, else 200. Only `null` and `undefined` are no body: `0`, `false` and
 * `''` are sent.
 * @throws {TypeError} `context.http.status` is no integer from 200 to 599
 */
export function toStatus(context: HookContext, body: unknown): number {
  const { http } = context
  if (http.status) return checkStatus(http.status)
  if (http.location || http.headers?.['Location']) return 303
  if (body === undefined || body === null) return 204
  return context.method === 'create' ? 201 : 200
}

/** A status below 200 is refused: after it a client waits for the real answer. */
function checkStatus(status: number): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw new TypeError(`context.http.status must be an integer from 200 to 599, not ${status}`)
}
