import type { HookContext } from '../../core/index.ts'

/**
 * Returns the status of an answer: that of the hook, 303 with a location, 204 for no body, 201 for
 * `create`, else 200. Of the values that are falsy only `null` and `undefined` are no body.
 * @throws {TypeError} a status of the hook that ends no request, or is none
 */
export function toStatus(context: HookContext, body: unknown): number {
  const { http } = context
  if (http.status) return checkStatus(http.status)
  if (http.location || http.headers?.['Location']) return 303
  if (body === undefined || body === null) return 204
  return context.method === 'create' ? 201 : 200
}

/** After one below 200 a client waits for another one. */
function checkStatus(status: number): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw new TypeError(`context.http.status must be an integer from 200 to 599, not ${status}`)
}
