import { ofetch } from 'ofetch'
import { STANDARD_METHODS } from '../core/method-table.ts'
import { checkFactoryCall } from '../core/options/configurator.ts'
import type { AnyServices } from '../core/services/service-map.ts'
import type { ConnectionOptions } from './connection.ts'
import type { AxiosLibrary } from './libraries/axios-connection.ts'
import { AxiosClient } from './libraries/axios-connection.ts'
import type { FetchFunction } from './libraries/fetch-connection.ts'
import { FetchClient } from './libraries/fetch-connection.ts'
import { OfetchClient } from './libraries/ofetch-connection.ts'
import type { SuperagentLibrary } from './libraries/superagent-connection.ts'
import { SuperagentClient } from './libraries/superagent-connection.ts'
import { RemoteService } from './remote-service.ts'
import type { CustomMethods, NoCustomMethods, RemoteServices } from './remote-services.ts'
import { toBaseURL } from './requests/service-url.ts'
import type { RemoteServiceClass, RestConnection } from './rest-connection.ts'
import { createConnection } from './rest-connection.ts'

/** Makes a connection by an HTTP library; the class may stand in the place of the options. */
export type Connector<Library, Services> = (
  library: Library,
  options?: ConnectionOptions | RemoteServiceClass,
  Service?: RemoteServiceClass,
) => RestConnection<Services>

/**
 * The HTTP libraries that a server can be reached by. They throw a `TypeError` where the library is
 * missing, or an option or the class is unknown or invalid.
 */
export interface RestConnectors<Services> {
  /** Returns a connection by ofetch. */
  ofetch(
    options?: ConnectionOptions | RemoteServiceClass,
    Service?: RemoteServiceClass,
  ): RestConnection<Services>
  /** Returns a connection by `fetch` of the platform, or a function like it. */
  readonly fetch: Connector<FetchFunction, Services>
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
    return (connection, given = {}, last = Default) => {
      const owner = `rest().${library}()`
      // Feathers takes the class in the place of the options as well.
      const [options, Service] = typeof given === 'function' ? [{}, given] : [given, last]
      checkServiceClass(owner, Service)
      const made = createConnection(library, { base, connection, options, Service })
      checkOverrides(owner, made.service('/'))
      return made
    }
  }
  return {
    ofetch: (options, Service) => by('ofetch', OfetchClient)(ofetch, options, Service),
    fetch: by('fetch', FetchClient),
    axios: by('axios', AxiosClient),
    superagent: by('superagent', SuperagentClient),
  }
}

/** @throws {TypeError} a class that is none of this package: it would go without tokens and limits */
function checkServiceClass(owner: string, Service: RemoteServiceClass): void {
  if (Service?.prototype instanceof RemoteService) return
  throw new TypeError(
    `${owner}: the class must extend FetchClient or another RemoteService of remex/client`,
  )
}

/** @throws {TypeError} a service has what classes of Feathers send requests by: nothing calls it */
function checkOverrides(owner: string, service: object): void {
  const names = ['request', 'makeUrl', ...STANDARD_METHODS.map((method) => `_${method}`)]
  const name = names.find((one) => one in service)
  if (name === undefined) return
  throw new TypeError(
    `${owner}: '${name}' of the class is never called: override sendRequest(request) or getQuery(query)`,
  )
}
