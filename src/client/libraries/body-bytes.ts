import type { ResponseType } from '../connection.ts'

/** Bytes as libraries give them: Node's are views of a memory that others may share. */
type Bytes = ArrayBuffer | Uint8Array<ArrayBuffer>

const UTF_8 = /* @__PURE__ */ new TextDecoder()

const CONVERTERS: Readonly<
  Record<Exclude<ResponseType, 'stream'>, (bytes: Bytes, contentType: string) => unknown>
> = {
  json: (bytes) => UTF_8.decode(bytes),
  text: (bytes) => UTF_8.decode(bytes),
  arrayBuffer: (bytes) => (bytes instanceof ArrayBuffer ? bytes : new Uint8Array(bytes).buffer),
  blob: (bytes, type) => new Blob([bytes], { type }),
}

/** Returns a body as it is wanted, of a library that was asked for bytes. */
export function convertBytes(
  bytes: unknown,
  responseType: Exclude<ResponseType, 'stream'>,
  contentType = '',
): unknown {
  // An answer without a body has none, or an empty string.
  const isBytes = bytes instanceof ArrayBuffer || bytes instanceof Uint8Array
  return CONVERTERS[responseType](isBytes ? (bytes as Bytes) : new ArrayBuffer(0), contentType)
}

/** Returns the headers of an answer as libraries for Node give them, each as one string. */
export function joinHeaders(headers: object): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = [value].flat().join(', ')
  }
  return joined
}
