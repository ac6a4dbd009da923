import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { MethodEntry, MethodSpec, ServiceEntry } from '../core/index.ts'
import { handleAnyRequest } from './catch-all-routes.ts'
import type { RestTransport } from './rest-transport.ts'
import type { Routing } from './routing/request-path.ts'
import { getRouting, hasRoute } from './routing/request-path.ts'
import { ID_PLACEHOLDER, toPatterns } from './routing/service-router.ts'
import { handleServiceRequest } from './service-handler.ts'
import { findByVerb, hasCustomMethod, VERBS } from './service-method.ts'

/** One form of URL of a service: all of its records, or one of them. */
interface ServiceUrl {
  readonly url: string
  /** The URL without the names of its placeholders, so that equal shapes fit the same paths. */
  readonly shape: string
  readonly segments: readonly string[]
  /** The path that the service is registered at. */
  readonly path: string
  readonly entry: ServiceEntry
  readonly hasId: boolean
}

type Verb = MethodSpec['verb']

/** What a route says of itself. */
interface RouteConfig extends FastifyContextConfig {
  readonly service: string
  readonly serviceMethod?: string | undefined
}

/**
 * Makes Fastify routes for the services. A request that calls a service that was there at the start
 * comes by a route that names it in its `config`, where hooks of Fastify can see it.
 */
export class ServiceRoutes {
  readonly #transport: RestTransport
  readonly #scope: FastifyInstance
  readonly #routing: Routing
  readonly #shapes = new Set<string>()
  readonly #handleAny: RequestHandler

  constructor(transport: RestTransport, scope: FastifyInstance) {
    this.#transport = transport
    this.#scope = scope
    this.#routing = getRouting(scope)
    this.#handleAny = handleAnyRequest.bind(null, transport)
  }

  /** Adds the routes of all services, in the order of their registration. */
  addAll(entries: Iterable<readonly [path: string, entry: ServiceEntry]>): void {
    const urls = [...entries].flatMap(([path, entry]) => this.#toUrls(path, entry))
    for (const verb of VERBS) this.#addVerb(verb, urls)
    for (const target of urls) this.#addOtherForms(target)
  }

  #addVerb(verb: Verb, urls: readonly ServiceUrl[]): void {
    const offering = urls.filter(({ entry, hasId }) => isOffered(entry, verb, hasId))
    for (const target of urls) {
      const method = findByVerb(target.entry, verb, target.hasId)
      if (method !== null && (method.spec.withId || !target.hasId)) {
        this.#route(verb, target, this.#createHandler(method, target))
      } else if (
        offering.some((other) => other.entry !== target.entry && overlaps(target, other))
      ) {
        // Fastify has a tree for each verb, so that a service with a less specific path would
        // answer.
        this.#route(verb, target, this.#handleAny)
      }
    }
  }

  #toUrls(path: string, entry: ServiceEntry): ServiceUrl[] {
    return toPatterns(path, this.#transport.prefix).map((url, index) => {
      const shape = this.#transport.router.toShape(url)
      return { url, shape, segments: shape.split('/'), path, entry, hasId: index === 1 }
    })
  }

  #route(
    verb: Verb,
    { url, shape, path, entry, hasId }: ServiceUrl,
    handler: RequestHandler,
  ): void {
    if (!this.#claim(verb, shape)) return
    const config: RouteConfig = {
      service: path,
      serviceMethod: findByVerb(entry, verb, hasId)?.name,
    }
    this.#scope.route({
      method: verb === 'GET' ? ['GET', 'HEAD'] : verb,
      url,
      exposeHeadRoute: false,
      config,
      handler,
    })
  }

  /** Adds the less common routes: a slash at the end, custom methods, a `POST` with an id. */
  #addOtherForms({ url, shape, path, entry, hasId }: ServiceUrl): void {
    const verbs = [...VERBS].filter((verb) => isOffered(entry, verb, hasId))
    if (verbs.includes('POST')) this.#addOther(url, shape, path, ['POST'])
    if (url === '/' || this.#routing.ignoreTrailingSlash) return
    // With an empty id '/notes/' has the route of '/notes/:id', where there is one.
    const others = hasId ? verbs : verbs.filter((verb) => !isOffered(entry, verb, true))
    this.#addOther(`${url}/`, `${shape}/`, path, others)
  }

  #addOther(url: string, shape: string, path: string, verbs: readonly Verb[]): void {
    const method = verbs
      .filter((verb) => this.#claim(verb, shape))
      .flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]))
      // What the host has there already stays.
      .filter((verb) => !hasRoute(this.#scope, verb, url))
    if (method.length === 0) return
    const config: RouteConfig = { service: path }
    this.#scope.route({ method, url, exposeHeadRoute: false, config, handler: this.#handleAny })
  }

  /**
   * Whether a shape is free: of two services with the same one the first counts, as in the router.
   */
  #claim(verb: Verb, shape: string): boolean {
    if (this.#shapes.has(`${verb} ${shape}`)) return false
    this.#shapes.add(`${verb} ${shape}`)
    return true
  }

  #createHandler(method: MethodEntry, { path, hasId }: ServiceUrl): RequestHandler {
    // There '/notes/' has the route of '/notes', and the router tells that an id is missing.
    const isAmbiguous = this.#routing.ignoreTrailingSlash && method.spec.withId && !hasId
    return isAmbiguous ? this.#handleAny : createHandler(this.#transport, method, path)
  }
}

/** Whether a verb calls a service: one of the standard methods, or a custom one by its name. */
function isOffered(entry: ServiceEntry, verb: Verb, hasId: boolean): boolean {
  return findByVerb(entry, verb, hasId) !== null || (verb === 'POST' && hasCustomMethod(entry))
}

type RequestHandler = (request: FastifyRequest, reply: FastifyReply) => void

/** Whether there are paths that fit both. */
function overlaps({ segments }: ServiceUrl, other: ServiceUrl): boolean {
  return (
    segments.length === other.segments.length &&
    segments.every((segment, index) => {
      const opposite = other.segments[index]
      return segment === opposite || segment === ':' || opposite === ':'
    })
  )
}

function createHandler(
  transport: RestTransport,
  method: MethodEntry,
  path: string,
): RequestHandler {
  // What an application gives of its own may be of other types than the values of URLs.
  const routeParams = method.entry.options.routeParams as Readonly<Record<string, string>>
  const hasPlaceholders = `${transport.prefix}/${path}`.includes(':')
  const isCreate = method.name === 'create'
  return (request, reply) => {
    const values = request.params as Record<string, string>
    const id = values[ID_PLACEHOLDER]
    const isCustom = isCreate && request.headers['x-service-method'] !== undefined
    const isEmpty = id === '' || (hasPlaceholders && Object.values(values).includes(''))
    // An absolute target, and one that is none: `*notes` has come here too.
    const isPath = request.raw.url?.charCodeAt(0) === SLASH
    if (isCustom || isEmpty || !isPath || transport.isDynamic) {
      handleAnyRequest(transport, request, reply)
      return
    }
    const route = hasPlaceholders ? toRoute(values, routeParams) : { ...routeParams }
    handleServiceRequest(transport, method, { id: id ?? null, route }, request, reply)
  }
}

const SLASH = '/'.charCodeAt(0)

function toRoute(
  { [ID_PLACEHOLDER]: _id, ...values }: Record<string, string>,
  routeParams: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...routeParams, ...values }
}
