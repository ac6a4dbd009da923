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

/** Returns a path without the slashes at its ends, in linear time however many there are. */
export function stripSlashes(path: string): string {
  let start = 0
  let end = path.length
  while (start < end && path.charCodeAt(start) === SLASH) start += 1
  while (end > start && path.charCodeAt(end - 1) === SLASH) end -= 1
  return path.slice(start, end)
}

const SLASH = '/'.charCodeAt(0)
