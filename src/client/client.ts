import { ofetch } from 'ofetch'
import { Application } from '../core/app.ts'
import { STANDARD_METHODS } from '../core/method-table.ts'
import type { OptionRule } from '../core/options/option-rules.ts'
import { checkRules, STRING_LIST_OPTION } from '../core/options/option-rules.ts'
import type { AnyService, AnyServices, ServiceAt } from '../core/services/service-map.ts'
import { isObject } from '../core/value-kind.ts'
import type { LoginMembers } from './authentication/authentication.ts'
import { MISSING_LOGIN } from './authentication/authentication.ts'
import type { ConnectionOptions } from './connection.ts'
import { CONNECTION_RULES } from './connection.ts'
import { OfetchClient } from './libraries/fetch-connection.ts'
import type {
  CustomMethods,
  FindArguments,
  FoundRecord,
  NoCustomMethods,
  RemoteServices,
  RequiredMethods,
} from './remote-services.ts'
import { createConnection } from './rest.ts'

/** Options of {@link createClient}. */
export interface ClientOptions<Methods = unknown> extends ConnectionOptions {
  /** The base URL of the services. Default: the origin of the page, only in browsers. */
  readonly baseURL?: string | undefined
  /** The custom methods of each service: `{ posts: ['publish'] }`. Default: none. */
  readonly methods?: Methods | undefined
}

/** The options are optional, unless there are methods that must be listed. */
type ClientArguments<Services, Methods> =
  object extends RequiredMethods<Services>
    ? [options?: ClientOptions<Methods>]
    : [options: ClientOptions<Methods> & { readonly methods: RequiredMethods<Services> }]

/**
 * The additional members of a client's service, compared with the service `S`. Other entry points of the package
 * augment this type when they are imported.
 */
export interface RemoteServiceMembers<S> {
  /** Returns the records of a query one by one, page by page of `$limit` records. */
  each(...params: FindArguments<S>): AsyncGenerator<FoundRecord<S>, void, undefined>
  /**
   * Returns all records that `find` finds, without pages, as they arrive: `for await (const task of
   * client.service('tasks').stream())`. The request starts with the first `next()` and ends with the loop, which throws
   * if the response breaks off. The service has to allow streams.
   */
  stream(...params: FindArguments<S>): AsyncIterableIterator<FoundRecord<S>, void, undefined>
}

/** A service with its hooks and events: what `client.service(path)` returns. */
export type ClientService<Services, Path extends keyof Services, A> = ServiceAt<Services, Path, A> &
  RemoteServiceMembers<Services[Path]>

interface ServiceLookup<Services> {
  /** Returns the service of the server at a path. */
  service<Path extends keyof Services & string>(path: Path): ClientService<Services, Path, this>
}

/** An application whose services are those of a server. */
export type Client<Services = AnyServices, Methods = NoCustomMethods<Services>> = ServiceLookup<
  RemoteServices<Services, Methods>
> &
  Application<RemoteServices<Services, Methods>> & {
    /** The HTTP library: `ofetch`. */
    readonly rest: unknown
    /** Clients have no setup. */
    readonly setup: never
    /** Clients have no teardown. */
    readonly teardown: never
  } & LoginMembers<Services>

const RULES: Readonly<Record<keyof ClientOptions, OptionRule>> = {
  baseURL: { expected: 'a string', isValid: (value) => typeof value === 'string' },
  methods: {
    expected: 'an object of lists of names',
    isValid: (value) => isObject(value) && Object.values(value).every(STRING_LIST_OPTION.isValid),
  },
  ...CONNECTION_RULES,
}

/**
 * Returns an application whose services are those of a server, called with ofetch. It has its own hooks and events.
 * `Services` are the services of the server, and `Methods` is the type of the option `methods`: `createClient<Services,
 * typeof methods>({ baseURL, methods })`.
 * @throws {TypeError} an option is unknown or invalid
 */
export function createClient<
  Services = AnyServices,
  Methods extends CustomMethods<Services> = NoCustomMethods<Services>,
>(...[options = {}]: ClientArguments<Services, Methods>): Client<Services, Methods> {
  checkRules('createClient()', options, RULES)
  const { baseURL = '', methods = {}, ...connectionOptions } = options
  const settings = { base: baseURL, connection: ofetch, options: connectionOptions }
  const connection = createConnection(settings, OfetchClient)
  // Without the server parts of createApp(), which browsers would have to load.
  const client: Application = new Application().configure(connection)
  for (const [path, names] of Object.entries<readonly string[] | undefined>(methods)) {
    if (names === undefined) continue
    const service: AnyService = connection.service(path)
    client.use(path, service, { methods: [...STANDARD_METHODS, ...names] })
  }
  // Set here too, since its types do not know whether logins were added to the client.
  Object.assign(client, MISSING_LOGIN)
  // The registry holds any services; their types are those of the server, which are unknown at run time.
  return client as unknown as Client<Services, Methods>
}
