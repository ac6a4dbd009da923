import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { MethodEntry, MethodSpec, ServiceEntry } from '../core/index.ts'
import { handleAnyRequest } from './any-request.ts'
import { handleServiceRequest } from './service-handler.ts'
import { findByVerb, VERBS } from './service-method.ts'
import { ID_PLACEHOLDER, toPatterns } from './service-router.ts'
import type { RestTransport } from './transport.ts'

/** One form of URL of a service: all of its records, or one of them. */
interface ServiceUrl {
  readonly url: string
  /** The URL without the names of its placeholders, so that equal shapes fit the same paths. */
  readonly shape: string
  readonly segments: readonly string[]
  readonly entry: ServiceEntry
  readonly hasId: boolean
}

/** Makes one Fastify route for each service, method and form of URL. */
export class ServiceRoutes {
  readonly #transport: RestTransport
  readonly #scope: FastifyInstance
  readonly #shapes = new Set<string>()

  constructor(transport: RestTransport, scope: FastifyInstance) {
    this.#transport = transport
    this.#scope = scope
  }

  /** Adds the routes of all services, in the order of their registration. */
  addAll(entries: Iterable<readonly [path: string, entry: ServiceEntry]>): void {
    const urls = [...entries].flatMap(([path, entry]) => this.#toUrls(path, entry))
    for (const verb of VERBS) {
      const offering = urls.filter(({ entry, hasId }) => findByVerb(entry, verb, hasId) !== null)
      for (const target of urls) {
        const method = findByVerb(target.entry, verb, target.hasId)
        if (method !== null && (method.spec.withId || !target.hasId)) {
          this.#route(verb, target, createHandler(this.#transport, method))
        } else if (
          offering.some((other) => other.entry !== target.entry && overlaps(target, other))
        ) {
          // Fastify has a tree for each verb: a service with a vaguer path would answer otherwise.
          this.#route(verb, target, handleAnyRequest.bind(null, this.#transport))
        }
      }
    }
  }

  #toUrls(path: string, entry: ServiceEntry): ServiceUrl[] {
    return toPatterns(path).map((url, index) => {
      const shape = this.#transport.router.toShape(url)
      return { url, shape, segments: shape.split('/'), entry, hasId: index === 1 }
    })
  }

  #route(
    verb: MethodSpec['verb'],
    { url, shape, entry, hasId }: ServiceUrl,
    handler: RequestHandler,
  ): void {
    // Of two services with the same shape the first one counts, as in the router.
    if (this.#shapes.has(`${verb} ${shape}`)) return
    this.#shapes.add(`${verb} ${shape}`)
    const serviceMethod = findByVerb(entry, verb, hasId)?.name
    this.#scope.route({
      method: verb === 'GET' ? ['GET', 'HEAD'] : verb,
      url,
      exposeHeadRoute: false,
      config: { service: entry.path, serviceMethod },
      handler,
    })
  }
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

function createHandler(transport: RestTransport, method: MethodEntry): RequestHandler {
  const { routeParams } = method.entry.options
  const hasPlaceholders = `${transport.prefix}/${method.entry.path}`.includes(':')
  const isCreate = method.name === 'create'
  return (request, reply) => {
    const values = request.params as Record<string, string>
    const id = values[ID_PLACEHOLDER]
    const isCustom = isCreate && request.headers['x-service-method'] !== undefined
    const isEmpty = id === '' || (hasPlaceholders && Object.values(values).includes(''))
    if (isCustom || isEmpty || transport.isDynamic) {
      handleAnyRequest(transport, request, reply)
      return
    }
    const route = hasPlaceholders ? toRoute(values, routeParams) : { ...routeParams }
    handleServiceRequest(transport, method, { id: id ?? null, route }, request, reply)
  }
}

function toRoute(
  { [ID_PLACEHOLDER]: _id, ...values }: Record<string, string>,
  routeParams: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...routeParams, ...values }
}
