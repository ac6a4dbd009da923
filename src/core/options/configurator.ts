import { isObject, isPromise } from '../value-kind.ts'

/** The functions for `app.configure()` that factories have made, with the names of these. */
const FACTORY_NAMES = new WeakMap<object, string>()

/**
 * Returns a function for `app.configure()`, known by the factory that made it: given to `app.use()`
 * it would look like any function.
 * @param options what the factory was called with
 * @throws {TypeError} that is the application: the factory itself was configured, and not called
 */
export function createConfigurator<App>(
  factory: string,
  options: unknown,
  configure: (app: App) => void,
): (app: App) => void {
  checkFactoryCall(factory, options)
  return nameFactory(factory, configure)
}

/** Makes a function for `app.configure()` known by the factory that made it. Returns it. */
export function nameFactory<F extends object>(factory: string, configure: F): F {
  FACTORY_NAMES.set(configure, factory)
  return configure
}

/** @throws {TypeError} the options are the application: the factory itself was configured */
export function checkFactoryCall(factory: string, options: unknown): void {
  if (!isApplicationLike(options)) return
  throw new TypeError(
    `app.configure(${factory}) lacks the call of ${factory}: app.configure(${factory}())`,
  )
}

/** Returns the name of the factory that made a function for `app.configure()`. */
export function findFactoryName(value: object): string | undefined {
  return FACTORY_NAMES.get(value)
}

/** @throws {TypeError} the value is no function that takes an application */
export function checkConfigurator(value: unknown): void {
  if (typeof value !== 'function') {
    const hint = isPromise(value) ? 'a promise: await it first' : describe(value)
    throw new TypeError(`app.configure() takes a function (app), not ${hint}`)
  }
  if (value.length <= 1) return
  throw new TypeError(
    `'${value.name || 'anonymous'}' takes ${value.length} arguments: app.configure() takes a function (app)`,
  )
}

/** Whether a function is a class, written as one or with methods on its prototype. */
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

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value
}
