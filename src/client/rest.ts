import { ofetch } from 'ofetch'
import type { Application } from '../core/app.ts'
import { checkFactoryCall, createConfigurator } from '../core/configurator.ts'
import { isStandardMethod } from '../core/method-table.ts'
import type { AnyServices } from '../core/service-map.ts'
import { isObject } from '../core/value-kind.ts'
import type { AxiosLibrary } from './axios-connection.ts'
import { AxiosClient } from './axios-connection.ts'
import type { ConnectionOptions } from './connection.ts'
import type { FetchFunction } from './fetch-connection.ts'
import { FetchClient } from './fetch-connection.ts'
import { OfetchClient } from './ofetch-connection.ts'
import type { RemoteServiceSettings } from './remote-service.ts'
import { RemoteService } from './remote-service.ts'
import type { CustomMethods, NoCustomMethods, RemoteServices } from './remote-services.ts'
import { toBaseURL } from './service-url.ts'
import type { SuperagentLibrary } from './superagent-connection.ts'
import { SuperagentClient } from './superagent-connection.ts'
import type { UndiciLibrary } from './undici-connection.ts'
import { UndiciClient } from './undici-connection.ts'

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

/** Makes a connection by an HTTP library; the class may stand in the place of the options. */
export type Connector<Library, Services> = (
  library: Library,
  options?: ConnectionOptions | RemoteServiceClass,
  Service?: RemoteServiceClass,
) => RestConnection<Services>

/**
 * The HTTP libraries that a server can be reached by. They throw a `TypeError` where the library is
 * missing, or an option is unknown or invalid.
 */
export interface RestConnectors<Services> {
  /** Returns a connection by ofetch. */
  ofetch(
    options?: ConnectionOptions | RemoteServiceClass,
    Service?: RemoteServiceClass,
  ): RestConnection<Services>
  /** Returns a connection by `fetch` of the platform, or a function like it. */
  readonly fetch: Connector<FetchFunction, Services>
  /** Returns a connection by `request` of undici, the fastest in Node. */
  readonly undici: Connector<UndiciLibrary, Services>
  /** Returns a connection by axios, or an instance of it. */
  readonly axios: Connector<AxiosLibrary, Services>
  /** Returns a connection by superagent. */
  readonly superagent: Connector<SuperagentLibrary, Services>
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
  const by = (library: string, Default: RemoteServiceClass): Connector<unknown, never> => {
    return (connection, options, Service) =>
      createConnection(library, base, { connection, options, Service, Default })
  }
  return {
    ofetch: (options, Service) => by('ofetch', OfetchClient)(ofetch, options, Service),
    fetch: by('fetch', FetchClient),
    undici: by('undici', UndiciClient),
    axios: by('axios', AxiosClient),
    superagent: by('superagent', SuperagentClient),
  }
}

/** Whether a value is the library that is meant: a function, or an object with one. */
const IS_LIBRARY: Readonly<Record<string, (value: unknown) => boolean>> = {
  undici: (value) => isObject(value) && typeof value['request'] === 'function',
  axios: (value) =>
    typeof (value as Partial<AxiosLibrary> | null | undefined)?.request === 'function',
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
  const isLibrary = IS_LIBRARY[library] ?? ((value) => typeof value === 'function')
  if (!isLibrary(connection)) {
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
