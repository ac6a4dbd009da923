import { isPromise } from '../../value-kind.ts'

/** Calls a function with a value: at once, or when the promise of the value is fulfilled. */
export function whenReady<R>(value: unknown, next: (value: unknown) => R): R | Promise<Awaited<R>> {
  if (!isPromise(value)) return next(value)
  return Promise.resolve(value).then(next) as Promise<Awaited<R>>
}

/** Returns the values, or a promise of them if one of them is a promise. */
export function whenAllReady(values: readonly unknown[]): readonly unknown[] | Promise<unknown[]> {
  return values.some(isPromise) ? Promise.all(values) : values
}
