import { BadRequest } from '../../core/errors/index.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'

/**
 * Returns data as JSON, `undefined` for no data.
 * @throws {BadRequest} data that JSON can not hold: a file or form, a function, a circle
 */
export function toBody(data: unknown): string | undefined {
  if (data === undefined) return undefined
  const body = stringify(data)
  if (body !== undefined && !isLost(data, body)) return body
  const name = isObject(data)
    ? (data.constructor as { name?: string } | undefined)?.name
    : undefined
  throw new BadRequest(`The data is a ${name ?? typeof data}, which JSON can not hold`)
}

function stringify(data: unknown): string | undefined {
  try {
    return JSON.stringify(data)
  } catch (error) {
    throw new BadRequest('The data can not be sent as JSON', undefined, { cause: error })
  }
}

/** Whether nothing of an object is in its JSON: that of a `FormData`, a `Blob` or a `Map` is `{}`. */
function isLost(data: unknown, body: string): boolean {
  if (ArrayBuffer.isView(data)) return true
  return body === '{}' && isObject(data) && !isPlainObject(data)
}
