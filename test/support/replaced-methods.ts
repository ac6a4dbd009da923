/** Returns an object that has other methods in place of some of a target. The target stays as it is. */
export function replaceMethods<T extends object>(target: T, methods: object): T {
  return new Proxy(target, {
    get(_target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
