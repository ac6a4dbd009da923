import type { Application } from '../core/app.ts'
import { isStandardMethod } from '../core/method-table.ts'
import { nameFactory } from '../core/options/configurator.ts'
import type { AnyServices } from '../core/services/service-map.ts'
import type { ConnectionOptions } from './connection.ts'
import type { RemoteServiceSettings } from './remote-service.ts'
import { RemoteService } from './remote-service.ts'

/** A class of remote services; extend `FetchClient` to make one. */
export type RemoteServiceClass = new (settings: RemoteServiceSettings) => RemoteService

/** The way to a server, given to `app.configure()` for all paths that have no service yet. */
export interface RestConnection<Services = AnyServices> {
  /** Makes an application get its services from the server; `app.rest` is the HTTP library. */
  (app: object): void
  /** Returns a service of the server, for `app.use(path, …)`: another one for each call. */
  service<Path extends keyof Services & string>(path: Path): Services[Path]
  /** The class of the services. */
  readonly Service: RemoteServiceClass
}

/** Whether a value is the library that is meant: a function, or an object with one. */
const IS_LIBRARY: Readonly<Record<string, (value: unknown) => boolean>> = {
  axios: (value) =>
    typeof (value as { request?: unknown } | null | undefined)?.request === 'function',
}

/** What a connection is made of. */
interface ConnectionParts {
  readonly base: string
  readonly connection: unknown
  readonly options: ConnectionOptions
  readonly Service: RemoteServiceClass
}

/**
 * Returns a connection by an HTTP library.
 * @param library its name, for errors
 * @throws {TypeError} the library is missing, or an option or the base URL is invalid
 */
export function createConnection(
  library: string,
  { base, connection, options, Service }: ConnectionParts,
): RestConnection<never> {
  const isLibrary = IS_LIBRARY[library] ?? ((value) => typeof value === 'function')
  if (!isLibrary(connection)) {
    throw new TypeError(`${library} has to be provided: rest(url).${library}(${library})`)
  }
  const service = (name: string): RemoteService => new Service({ name, base, connection, options })
  // What is wrong with the options is told now, not with the first call.
  service('/')
  const configure = nameFactory('rest', (app: Application): void => {
    if ('rest' in app) throw new TypeError('Only one default client provider can be configured')
    Object.assign(app, { rest: connection })
    app.defaultService = service
    app.mixins.unshift(addCustomMethods)
  })
  return Object.assign(configure, { service, Service }) as RestConnection<never>
}

/** Gives a remote service the methods that its options list, before hooks are put around them. */
function addCustomMethods(
  service: object,
  _path: string,
  { methods = [] }: { methods?: readonly string[] },
): void {
  if (!(service instanceof RemoteService)) return
  service.methods(...methods.filter((name) => !isStandardMethod(name)))
}
