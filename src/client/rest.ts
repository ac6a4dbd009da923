import { ofetch } from 'ofetch'
import type { Application } from '../core/app.ts'
import { ArgumentError } from '../core/errors/setup-errors.ts'
import { describeFunction } from '../core/function-metadata.ts'
import { isStandardMethod, STANDARD_METHODS } from '../core/method-table.ts'
import { checkFactoryCall } from '../core/options/configurator.ts'
import type { AnyServices } from '../core/services/service-map.ts'
import { useFeatures } from './client-features.ts'
import type { ConnectionOptions } from './connection.ts'
import type { AxiosLibrary } from './libraries/axios-connection.ts'
import { AxiosClient } from './libraries/axios-connection.ts'
import type { FetchFunction } from './libraries/fetch-connection.ts'
import { FetchClient, OfetchClient } from './libraries/fetch-connection.ts'
import type { SuperagentLibrary } from './libraries/superagent-connection.ts'
import { SuperagentClient } from './libraries/superagent-connection.ts'
import type { RemoteServiceSettings } from './remote-service.ts'
import { RemoteService } from './remote-service.ts'
import type { CustomMethods, NoCustomMethods, RemoteServices } from './remote-services.ts'
import { toBaseURL } from './requests/service-url.ts'

/** Creates a connection with an HTTP library. The class may take the place of the options. */
export type Connector<Library, Services> = (
  library: Library,
  options?: ConnectionOptions | RemoteServiceClass,
  Service?: RemoteServiceClass,
) => RestConnection<Services>

/**
 * The supported HTTP libraries. They throw a `TypeError` if the library is missing, or an option or the class is
 * unknown or invalid.
 */
export interface RestConnectors<Services> {
  /** Returns a connection that uses ofetch. */
  ofetch(
    options?: ConnectionOptions | RemoteServiceClass,
    Service?: RemoteServiceClass,
  ): RestConnection<Services>
  /** Returns a connection that uses `fetch` of the platform, or a similar function. */
  readonly fetch: Connector<FetchFunction, Services>
  /** Returns a connection that uses axios, or an instance of it. */
  readonly axios: Connector<AxiosLibrary, Services>
  /** Returns a connection that uses superagent. */
  readonly superagent: Connector<SuperagentLibrary, Services>
}

/**
 * Returns the connectors for a server: `app.configure(rest(baseURL).fetch(fetch))`. `Services` are those of the server,
 * and type `service(path)` of the connection.
 * @param baseURL the base URL of the services; by default the origin of the page in a browser
 * @throws {TypeError} the URL is invalid
 */
export function rest<
  Services = AnyServices,
  Methods extends CustomMethods<Services> = NoCustomMethods<Services>,
>(baseURL = ''): RestConnectors<RemoteServices<Services, Methods>> {
  checkFactoryCall('rest', baseURL)
  const base = toBaseURL(baseURL)
  const by = (library: string, Default: RemoteServiceClass): Connector<unknown, never> => {
    return (connection, given = {}, last = Default) => {
      const owner = `rest().${library}()`
      // Feathers also accepts the class in the place of the options.
      const [options, Service] = typeof given === 'function' ? [{}, given] : [given, last]
      // A class from another package would send calls without tokens and limits.
      if (!(Service?.prototype instanceof RemoteService)) {
        throw new ArgumentError(
          `${owner}: the class must extend FetchClient or another RemoteService of remex/client`,
        )
      }
      const called = library === 'axios' ? (connection as AxiosLibrary | null)?.request : connection
      if (typeof called !== 'function') {
        throw new ArgumentError(`${library} has to be provided: rest(url).${library}(${library})`)
      }
      const made = createConnection({ base, connection, options }, Service)
      checkOverrides(owner, made.service('/'))
      return describeFunction(made, { configuratorFactory: 'rest' })
    }
  }
  return {
    ofetch: (options, Service) => by('ofetch', OfetchClient)(ofetch, options, Service),
    fetch: by('fetch', FetchClient),
    axios: by('axios', AxiosClient),
    superagent: by('superagent', SuperagentClient),
  }
}

/** @throws {TypeError} a service overrides the methods by which Feathers sends requests, which are never called here */
function checkOverrides(owner: string, service: object): void {
  const names = ['request', 'makeUrl', ...STANDARD_METHODS.map((method) => `_${method}`)]
  const name = names.find((one) => one in service)
  if (name === undefined) return
  throw new ArgumentError(
    `${owner}: '${name}' of the class is never called: override sendRequest(request) or getQuery(query)`,
  )
}

/** A class of remote services; extend `FetchClient` to create one. */
export type RemoteServiceClass = new (settings: RemoteServiceSettings) => RemoteService

/** A connection to a server, passed to `app.configure()` for all paths without a service. */
export interface RestConnection<Services = AnyServices> {
  /** Makes an application get its services from the server; `app.rest` is the HTTP library. */
  (app: object): void
  /** Returns a service of the server, for `app.use(path, …)`; a new one for each call. */
  service<Path extends keyof Services & string>(path: Path): Services[Path]
  /** The class of the services. */
  readonly Service: RemoteServiceClass
}

/**
 * Returns a connection that uses an HTTP library.
 * @throws {TypeError} an option or the base URL is invalid
 */
export function createConnection(
  settings: Omit<RemoteServiceSettings, 'name'>,
  Service: RemoteServiceClass,
): RestConnection<never> {
  const service = (name: string): RemoteService => new Service({ ...settings, name })
  // Checks the options now, rather than with the first call.
  const { options } = service('/')
  const configure = (app: Application): void => {
    if ('rest' in app) throw new ArgumentError('Only one default client provider can be configured')
    Object.assign(app, { rest: settings.connection, defaultService: service })
    app.mixins.unshift(addCustomMethods)
    useFeatures(app, options)
  }
  return Object.assign(configure, { service, Service }) as RestConnection<never>
}

/** Adds the methods that its options list to a remote service, before hooks wrap them. */
function addCustomMethods(
  service: object,
  _path: string,
  { methods = [] }: { methods?: readonly string[] },
): void {
  if (!(service instanceof RemoteService)) return
  service.methods(...methods.filter((name) => !isStandardMethod(name)))
}
