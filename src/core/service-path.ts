/**
 * Returns the path as services are stored: without slashes at the ends, `/` for the root.
 * @throws {TypeError} the path is not a string
 */
export function toServicePath(path: unknown): string {
  if (typeof path !== 'string')
    throw new TypeError(`'${String(path)}' is not a valid service path.`)
  const stripped = stripSlashes(path)
  return stripped === '' ? '/' : stripped
}

/** Returns the text without the slashes at its ends, in linear time whatever it holds. */
export function stripSlashes(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) === SLASH) start += 1
  while (end > start && text.charCodeAt(end - 1) === SLASH) end -= 1
  return text.slice(start, end)
}

const SLASH = '/'.charCodeAt(0)
