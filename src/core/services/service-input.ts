import { RegistrationError } from '../errors/setup-errors.ts'
import { isObject, isPromise } from '../value-kind.ts'

const SLASH = '/'.charCodeAt(0)

/**
 * Returns the path of a service in its stored form: without slashes at the ends, `/` for the root.
 * @throws {TypeError} the path is not a string
 */
export function toServicePath(path: unknown): string {
  if (typeof path !== 'string')
    throw new RegistrationError(`'${String(path)}' is not a valid service path.`)
  const stripped = stripSlashes(path)
  return stripped === '' ? '/' : stripped
}

/** Returns a path without slashes at its ends, in linear time however many there are. */
export function stripSlashes(path: string): string {
  let start = 0
  let end = path.length
  while (start < end && path.charCodeAt(start) === SLASH) start += 1
  while (end > start && path.charCodeAt(end - 1) === SLASH) end -= 1
  return path.slice(start, end)
}

/** @throws {TypeError} the value is not a service; says what it seems to be, if known */
export function checkServiceInput(
  path: string,
  value: unknown,
  describe: (path: string, value: unknown) => string = () => 'pass an object with methods',
): asserts value is object {
  if (isObject(value) && !isPromise(value) && !isApplication(value)) return
  throw new RegistrationError(
    `Invalid service object passed for path \`${path}\`: ${describe(path, value)}`,
  )
}

/** Whether an object is an application, of Feathers or of another copy of this package. */
function isApplication({ service, services }: Record<string, unknown>): boolean {
  return typeof service === 'function' && typeof services === 'object'
}
