import { findFactoryName, isClass } from './configurator.ts'
import { isObject, isPromise } from './value-kind.ts'

/** @throws {TypeError} the value is no service; says what it seems to be, and where that belongs */
export function checkServiceInput(path: string, value: unknown): asserts value is object {
  const problem = findProblem(path, value)
  if (problem === null) return
  throw new TypeError(`Invalid service object passed for path \`${path}\`: ${problem}`)
}

/** Returns what is wrong, `null` for a service. */
function findProblem(path: string, value: unknown): string | null {
  if (typeof value === 'function') return describeFunction(path, value)
  if (!isObject(value)) return `it is ${value === null ? 'null' : typeof value}, not an object`
  const { service, services } = value
  if (typeof service === 'function' && typeof services === 'object') {
    return 'it is an application that createApp() did not make; register its services one by one'
  }
  return isPromise(value) ? 'it is a promise, await it first' : null
}

/** Says what a function is that stands where a service is meant. */
export function describeFunction(path: string, value: { readonly name: string }): string {
  const factory = findFactoryName(value)
  if (factory !== undefined) return `${factory}() belongs to app.configure(${factory}())`
  if (!isClass(value)) return 'it is a function'
  return `${value.name} is a class, pass an instance: app.use('${path}', new ${value.name}())`
}
