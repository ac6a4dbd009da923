import { findFactoryName, isClass } from './configurator.ts'
import { isObject, isPromise } from './value-kind.ts'

/** Says what a value is that stands where a service is meant, and where it belongs. */
export function describeInput(path: string, value: unknown): string {
  if (typeof value === 'function') return describeFunction(path, value)
  if (!isObject(value)) return `it is ${value === null ? 'null' : typeof value}, not an object`
  if (isPromise(value) && !('services' in value)) return 'it is a promise, await it first'
  return 'it is an application that createApp() did not make; register its services one by one'
}

/** Says what a function is that stands where a service is meant. */
export function describeFunction(path: string, value: { readonly name: string }): string {
  const factory = findFactoryName(value)
  if (factory !== undefined) return `${factory}() belongs to app.configure(${factory}())`
  if (!isClass(value)) return 'it is a function'
  return `${value.name} is a class, pass an instance: app.use('${path}', new ${value.name}())`
}
