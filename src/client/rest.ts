import { ofetch } from 'ofetch'
import type { Application } from '../core/app.ts'
import { checkFactoryCall, createConfigurator } from '../core/configurator.ts'
import { isStandardMethod } from '../core/method-table.ts'
import type { AnyServices } from '../core/service-map.ts'
import type { ConnectionOptions } from './connection.ts'
import type { FetchFunction } from './fetch-connection.ts'
import { FetchClient } from './fetch-connection.ts'
import { OfetchClient } from './ofetch-connection.ts'
import type { RemoteServiceSettings } from './remote-service.ts'
import { RemoteService } from './remote-service.ts'
import type { CustomMethods, NoCustomMethods, RemoteServices } from './remote-services.ts'
import { toBaseURL } from './service-url.ts'

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

/** The HTTP libraries that a server can be reached by. */
export interface RestConnectors<Services> {
  /** Returns a connection by ofetch. */
  ofetch(
    options?: ConnectionOptions | RemoteServiceClass,
    Service?: RemoteServiceClass,
  ): RestConnection<Services>
  /**
   * Returns a connection by `fetch` of the platform, or a function like it.
   * @throws {TypeError} there is no function
   */
  fetch(
    fetch: FetchFunction,
    options?: ConnectionOptions | RemoteServiceClass,
    Service?: RemoteServiceClass,
  ): RestConnection<Services>
}

/**
 * Returns the ways to a server at a URL: `app.configure(rest(baseURL).fetch(fetch))`. `Services` are
 * those of the server, and type `service(path)` of the connection.
 * @param baseURL the URL that the services are below; without one, the origin of the page in a browser
 * @throws {TypeError} the URL is invalid
 */
export function rest<
  Services = AnyServices,
  Methods extends CustomMethods<Services> = NoCustomMethods<Services>,
>(baseURL = ''): RestConnectors<RemoteServices<Services, Methods>> {
  checkFactoryCall('rest', baseURL)
  const base = toBaseURL(baseURL)
  const connect = (library: string, parts: ConnectionParts): RestConnection<never> =>
    createConnection(library, base, parts)
  return {
    ofetch: (options, Service) =>
      connect('ofetch', { connection: ofetch, options, Service, Default: OfetchClient }),
    fetch: (fetch, options, Service) =>
      connect('fetch', { connection: fetch, options, Service, Default: FetchClient }),
  }
}

interface ConnectionParts {
  readonly connection: unknown
  readonly options: ConnectionOptions | RemoteServiceClass | undefined
  readonly Service: RemoteServiceClass | undefined
  readonly Default: RemoteServiceClass
}

function createConnection(
  library: string,
  base: string,
  { connection, options: given = {}, Service: last, Default }: ConnectionParts,
): RestConnection<never> {
  if (typeof connection !== 'function') {
    throw new TypeError(`${library} has to be provided: rest(url).${library}(${library})`)
  }
  // Feathers takes the class in the place of the options as well.
  const isClass = typeof given === 'function'
  const Service = isClass ? given : (last ?? Default)
  const options = isClass ? {} : given
  const service = (name: string): RemoteService => new Service({ name, base, connection, options })
  // What is wrong with the options is told now, not with the first call.
  service('/')
  const configure = createConfigurator<Application>('rest', undefined, (app) => {
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
  { methods }: { methods: readonly string[] },
): void {
  if (!(service instanceof RemoteService)) return
  service.methods(...methods.filter((name) => !isStandardMethod(name)))
}
