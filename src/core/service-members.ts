import type { MethodEntry, ServiceEntryFace } from './method-entry.ts'
import { callMethod, createContext } from './run-method.ts'
import { createEmitterMethods } from './service-emitter.ts'

/** Where `getServiceOptions()` of Feathers, and packages that call it, find the options. */
const SERVICE_OPTIONS = Symbol.for('@feathersjs/service')

/**
 * Gives a service its hooked methods, `hooks` and the methods of an emitter. Returns the function
 * that puts everything back as it was.
 */
export function installMembers(entry: ServiceEntryFace): () => void {
  const { app, path, service } = entry
  const members: Record<string | symbol, unknown> = {
    // What a service of Feathers has there stays.
    ...(Object.hasOwn(service, SERVICE_OPTIONS) ? {} : { [SERVICE_OPTIONS]: entry.options }),
    hooks: createHooksMethod(entry),
    ...createEmitterMethods(
      service,
      (error, event) => app.logListenerError(error, `${path} ${String(event)}`),
      (event) => app.advice?.warnOfEvent(entry, event),
    ),
    ...Object.fromEntries([...entry.methods].map(([name, method]) => [name, createHooked(method)])),
  }
  const names = Reflect.ownKeys(members)
  const previous = names.map(
    (name) => [name, Object.getOwnPropertyDescriptor(service, name)] as const,
  )
  for (const name of names) {
    // Not enumerable: a service that is logged or compared shows only what its author gave it.
    const value = members[name]
    Object.defineProperty(service, name, { value, configurable: true, writable: true })
  }
  return () => {
    for (const [name, descriptor] of previous) {
      if (descriptor === undefined) Reflect.deleteProperty(service, name)
      else Object.defineProperty(service, name, descriptor)
    }
  }
}

/**
 * Returns the function that callers call; the one without hooks is its property `original`. It has
 * the name, the length and the enumerable properties of that one.
 */
function createHooked(method: MethodEntry): object {
  const { original } = method
  const hooked = function (this: object | undefined, ...args: unknown[]): Promise<unknown> {
    return callMethod(method, this ?? method.entry.service, args)
  }
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(original)).filter(
    ([name, { enumerable }]) => enumerable || name === 'name' || name === 'length',
  )
  Object.defineProperties(hooked, Object.fromEntries(descriptors))
  for (const key of Object.getOwnPropertySymbols(original)) {
    Object.defineProperty(hooked, key, { value: Reflect.get(original, key), configurable: true })
  }
  return Object.defineProperties(hooked, {
    original: { value: original, enumerable: true },
    // What createContext() of @feathersjs/feathers calls.
    createContext: {
      value: (data: object = {}) =>
        Object.assign(createContext(method, method.entry.service, []), data),
    },
  })
}

function createHooksMethod(entry: ServiceEntryFace): (options: unknown) => object {
  return (options) => {
    entry.hooks.add(options)
    entry.compile()
    return entry.service
  }
}
