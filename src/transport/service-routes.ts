import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { MethodEntry, ServiceEntry } from '../core/index.ts'
import { isStandardMethod, METHOD_TABLE } from '../core/index.ts'
import { handleAnyRequest } from './any-request.ts'
import { handleServiceRequest } from './service-handler.ts'
import { ID_PLACEHOLDER, toPatterns, toShape } from './service-router.ts'
import type { RestTransport } from './transport.ts'

/** Makes one Fastify route for each service, method and form of URL. */
export class ServiceRoutes {
  readonly #transport: RestTransport
  readonly #scope: FastifyInstance
  readonly #shapes = new Set<string>()

  constructor(transport: RestTransport, scope: FastifyInstance) {
    this.#transport = transport
    this.#scope = scope
  }

  add(path: string, entry: ServiceEntry): void {
    const [collection, record] = toPatterns(path)
    for (const method of entry.methods.values()) {
      if (!method.external || !isStandardMethod(method.name)) continue
      const { verb, withId } = METHOD_TABLE[method.name]
      if (method.name !== 'get') this.#route(verb, collection, method)
      if (withId) this.#route(verb, record, method)
    }
  }

  #route(verb: HTTPMethods, url: string, method: MethodEntry): void {
    const shape = `${verb} ${toShape(url)}`
    // Of two services with the same shape the first one counts, as in the router.
    if (this.#shapes.has(shape)) return
    this.#shapes.add(shape)
    this.#scope.route({
      method: verb === 'GET' ? ['GET', 'HEAD'] : verb,
      url,
      exposeHeadRoute: false,
      config: { service: method.entry.path, serviceMethod: method.name },
      handler: createHandler(this.#transport, method),
    })
  }
}

function createHandler(
  transport: RestTransport,
  method: MethodEntry,
): (request: FastifyRequest, reply: FastifyReply) => void {
  const { routeParams } = method.entry.options
  const hasPlaceholders = method.entry.path.includes(':')
  const isCreate = method.name === 'create'
  return (request, reply) => {
    const { [ID_PLACEHOLDER]: id, ...values } = request.params as Record<string, string>
    const isCustom = isCreate && request.headers['x-service-method'] !== undefined
    const isEmpty = id === '' || (hasPlaceholders && Object.values(values).includes(''))
    if (isCustom || isEmpty || transport.isDynamic)
      return handleAnyRequest(transport, request, reply)
    const target = { id: id ?? null, route: { ...routeParams, ...values } }
    return handleServiceRequest(transport, method, target, request, reply)
  }
}
