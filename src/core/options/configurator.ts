import { ArgumentError } from '../errors/setup-errors.ts'
import { describeFunction } from '../function-metadata.ts'
import { isObject, isPromise } from '../value-kind.ts'

/**
 * Returns a function for `app.configure()`, marked with the factory that made it: passed to `app.use()`, it
 * would look like any function.
 * @param options the options of the factory
 * @throws {TypeError} the options are the application: the factory itself was configured, not called
 */
export function createConfigurator<App>(
  factory: string,
  options: unknown,
  configure: (app: App) => void,
): (app: App) => void {
  checkFactoryCall(factory, options)
  return describeFunction(configure, { configuratorFactory: factory })
}

/** @throws {TypeError} the options are the application: the factory itself was configured */
export function checkFactoryCall(factory: string, options: unknown): void {
  if (!isApplicationLike(options)) return
  throw new ArgumentError(
    `app.configure(${factory}) lacks the call of ${factory}: app.configure(${factory}())`,
  )
}

/** @throws {TypeError} always: says why a value is not a function that takes an application */
export function refuseConfigurator(value: unknown): never {
  if (typeof value === 'function') {
    throw new ArgumentError(
      `'${value.name || 'anonymous'}' takes ${value.length} arguments: app.configure() takes a function (app)`,
    )
  }
  const kind = value === null ? 'null' : typeof value
  const hint = isPromise(value) ? 'a promise: await it first' : kind
  throw new ArgumentError(`app.configure() takes a function (app), not ${hint}`)
}

/** Whether a function is a class, by syntax or by methods on its prototype. */
export function isClass(value: object): boolean {
  if (typeof value !== 'function') return false
  if (/^class\b/.test(Function.prototype.toString.call(value))) return true
  const prototype: unknown = value.prototype
  // The prototype of a plain function has its constructor and nothing else; a generator's has less.
  return typeof prototype === 'object' && Object.getOwnPropertyNames(prototype).length > 1
}

function isApplicationLike(value: unknown): boolean {
  if (!isObject(value)) return false
  const { configure, use } = value
  return typeof configure === 'function' && typeof use === 'function'
}
