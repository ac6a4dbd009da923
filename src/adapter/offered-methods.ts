import { findServiceEntry } from '../core/index.ts'

/**
 * Checks which methods callers outside may call by their names. They are called with data in the place of
 * the params, so a caller would set what only the process may: `provider` and `adapter`, for example.
 * @param inner the class whose methods take params alone; one that a subclass has of the same name counts
 *   as its own
 * @throws {TypeError} one of them is offered
 */
export function checkOffered(service: object, path: string, inner: object): void {
  const methods = [...(findServiceEntry(service)?.methods.values() ?? [])]
  const offered = methods.find(
    ({ name, external, original }) => external && original === Reflect.get(inner, name),
  )
  if (offered === undefined) return
  const { name } = offered
  throw new TypeError(
    `'${name}' of service '${path}' is for calls inside: callers outside would set its params. Offer a custom method (data, params) that calls it`,
  )
}
