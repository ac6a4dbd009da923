import type { ResponseType } from '../connection.ts'

/** Resolves to a body in the wanted form, from a library that was asked for bytes. */
export function convertBytes(
  bytes: unknown,
  responseType: Exclude<ResponseType, 'stream'>,
  contentType = '',
): Promise<unknown> {
  // A response without a body has `undefined` or an empty string.
  const isBytes = bytes instanceof ArrayBuffer || bytes instanceof Uint8Array
  const headers = { 'content-type': contentType }
  const response = new Response(isBytes ? (bytes as Uint8Array<ArrayBuffer>) : null, { headers })
  return response[responseType === 'json' ? 'text' : responseType]()
}

/** Returns the headers of a response as Node libraries provide them, each joined to one string. */
export function joinHeaders(headers: object): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = [value].flat().join(', ')
  }
  return joined
}
