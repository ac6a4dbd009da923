import { isObject, isPromise } from '../value-kind.ts'

/** Returns what a value is that stands where a service is meant, and where it belongs. */
export type InputDescription = (path: string, value: unknown) => string

/** @throws {TypeError} the value is no service; says what it seems to be, if that is described */
export function checkServiceInput(
  path: string,
  value: unknown,
  describe: InputDescription = () => 'pass an object with methods',
): asserts value is object {
  if (isObject(value) && !isPromise(value) && !isApplication(value)) return
  throw new TypeError(
    `Invalid service object passed for path \`${path}\`: ${describe(path, value)}`,
  )
}

/** Whether an object is an application, of Feathers or of another copy of this package. */
function isApplication({ service, services }: Record<string, unknown>): boolean {
  return typeof service === 'function' && typeof services === 'object'
}
