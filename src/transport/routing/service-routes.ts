import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  preHandlerHookHandler,
} from 'fastify'
import { nameFunction } from '../../core/function-metadata.ts'
import type { MethodEntry, MethodSpec, ServiceEntry } from '../../core/index.ts'
import { openAnyCall } from '../catch-all-routes.ts'
import type { RestPlan, RestPlans } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import { RestCall } from '../service-handler.ts'
import { getRouting, hasRoute } from './request-path.ts'
import { findByVerb, hasCustomMethod, VERBS } from './service-method.ts'
import { ID_PLACEHOLDER, toPatterns } from './service-router.ts'

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

/** Returns the call that a request is for, `null` if the request has been answered. */
type OpenCall = (request: FastifyRequest, reply: FastifyReply) => RestCall | null

/** The config of a route. */
type RouteConfig = FastifyContextConfig & { service: string; serviceMethod?: string | undefined }

/**
 * Adds Fastify routes for all services, in the order of their registration. A request that calls a
 * service that was there at the start comes by a route that names it in its `config`, where hooks
 * of Fastify can see it. If the route does not say which method is called, as for custom methods, `openAnyCall()` finds it.
 * @param scopeOf returns the scope for the routes of a service
 */
export function addServiceRoutes(
  plans: RestPlans,
  scope: FastifyInstance,
  scopeOf: (entry: ServiceEntry) => FastifyInstance,
): void {
  const { transport } = plans
  const { ignoreTrailingSlash } = getRouting(scope)
  const openAny: OpenCall = openAnyCall.bind(null, plans)
  const urls = [...transport.app.entries].flatMap(([path, entry]) =>
    toServiceUrls(transport, path, entry),
  )
  const claimed = new Set<string>()
  /** Returns whether a shape is free: of two services with the same one, the first counts. */
  const claim = (verb: string, shape: string): boolean => {
    const isFree = !claimed.has(`${verb} ${shape}`)
    claimed.add(`${verb} ${shape}`)
    return isFree
  }
  const addRoute = (
    method: HTTPMethods[],
    { url, entry }: Pick<ServiceUrl, 'url' | 'entry'>,
    config: RouteConfig,
    open: OpenCall,
  ): void => {
    const functions = createRouteFunctions(open, plans.listStepsBefore(entry))
    scopeOf(entry).route({ method, url, exposeHeadRoute: false, config, ...functions })
  }

  for (const verb of VERBS) {
    const offering = urls.filter(({ entry, hasId }) => isOffered(entry, verb, hasId))
    for (const target of urls) {
      const { shape, path, entry, hasId } = target
      const method = findByVerb(entry, verb, hasId)
      const isCalled = method !== null && (method.spec.withId || !hasId)
      // Fastify has a tree per verb, so a service with a less specific path would respond.
      const isNearest = (): boolean =>
        offering.some((other) => other.entry !== entry && overlaps(target, other))
      if (!(isCalled || isNearest()) || !claim(verb, shape)) continue
      // There '/notes/' has the route of '/notes', and the router reports that an id is missing.
      const isAmbiguous = ignoreTrailingSlash && !hasId && method?.spec.withId === true
      const open = isCalled && !isAmbiguous ? toOpenCall(plans, method, path) : openAny
      addRoute(withHead(verb), target, { service: path, serviceMethod: method?.name }, open)
    }
  }

  const addOther = (
    { url, shape, path, entry }: Pick<ServiceUrl, 'url' | 'shape' | 'path' | 'entry'>,
    verbs: readonly string[],
  ): void => {
    const methods = verbs
      .filter((verb) => claim(verb, shape))
      .flatMap(withHead)
      // Existing routes of the host are kept.
      .filter((verb) => !hasRoute(scope, verb, url))
    if (methods.length > 0) addRoute(methods, { url, entry }, { service: path }, openAny)
  }
  // The less common routes: custom methods, a `POST` with an id, a slash at the end.
  for (const target of urls) {
    const { url, shape, path, entry, hasId } = target
    const verbs = [...VERBS].filter((verb) => isOffered(entry, verb, hasId))
    if (verbs.includes('POST')) addOther(target, ['POST'])
    if (!hasId && findByVerb(entry, 'GET', false) !== null) {
      addOther(target, transport.queryVerbs)
    }
    if (url === '/' || ignoreTrailingSlash) continue
    // With an empty id, '/notes/' has the route of '/notes/:id', if there is one.
    const others = hasId ? verbs : verbs.filter((verb) => !isOffered(entry, verb, true))
    addOther({ url: `${url}/`, shape: `${shape}/`, path, entry }, others)
  }
}

function toServiceUrls(
  { prefix, router }: RestTransport,
  path: string,
  entry: ServiceEntry,
): ServiceUrl[] {
  return toPatterns(path, prefix).map((url, index) => {
    const shape = router.toShape(url)
    return { url, shape, segments: shape.split('/'), path, entry, hasId: index === 1 }
  })
}

function withHead(verb: string): HTTPMethods[] {
  return verb === 'GET' ? ['GET', 'HEAD'] : [verb]
}

/** Returns whether a verb calls a service: one of its standard methods, or a custom one by name. */
function isOffered(entry: ServiceEntry, verb: Verb, hasId: boolean): boolean {
  return findByVerb(entry, verb, hasId) !== null || (verb === 'POST' && hasCustomMethod(entry))
}

/** Returns whether any path matches both. */
function overlaps({ segments }: ServiceUrl, other: ServiceUrl): boolean {
  return (
    segments.length === other.segments.length &&
    segments.every((segment, index) => {
      const opposite = other.segments[index]
      return segment === opposite || segment === ':' || opposite === ':'
    })
  )
}

/** Returns a function that opens the calls of one method, for requests whose route is that of the method. */
function toOpenCall(plans: RestPlans, method: MethodEntry, path: string): OpenCall {
  const { transport } = plans
  // Route params that the application sets itself may have other types than the values of URLs.
  const routeParams = method.entry.options.routeParams as Readonly<Record<string, string>>
  const hasPlaceholders = `${transport.prefix}/${path}`.includes(':')
  const isCreate = method.name === 'create'
  let plan: RestPlan | null = null
  return (request, reply) => {
    const values = request.params as Record<string, string>
    const id = values[ID_PLACEHOLDER]
    const isCustom = isCreate && request.headers['x-service-method'] !== undefined
    const isEmpty = id === '' || (hasPlaceholders && Object.values(values).includes(''))
    // An absolute target, or an invalid one: `*notes` gets here too.
    const isPath = request.raw.url?.charCodeAt(0) === SLASH
    if (isCustom || isEmpty || !isPath || transport.isDynamic) {
      return openAnyCall(plans, request, reply)
    }
    const route = hasPlaceholders ? toRoute(values, routeParams) : { ...routeParams }
    if (plan === null || plan.start !== method.start) plan = plans.get(method)
    return new RestCall(plan, { id: id ?? null, route }, request, reply)
  }
}

const SLASH = '/'.charCodeAt(0)

function toRoute(
  { [ID_PLACEHOLDER]: _id, ...values }: Record<string, string>,
  routeParams: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...routeParams, ...values }
}

/** What a route of a service runs. */
interface RouteFunctions {
  readonly preHandler: preHandlerHookHandler[]
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => void
}

/** The key of a request's call, until the handler runs. */
const CALL: unique symbol = Symbol('remex.call')

type RequestWithCall = FastifyRequest & { [CALL]?: RestCall }

/**
 * Returns the handler of a route, and one hook of Fastify for each step before a call, under its name. Without these hooks,
 * for example for services that come after the start, the handler runs the steps.
 */
function createRouteFunctions(open: OpenCall, steps: RestPlan['before']): RouteFunctions {
  const preHandler = steps.map(({ name }) => {
    const runStep: preHandlerHookHandler = (request: RequestWithCall, reply, done) => {
      const { [CALL]: begun } = request
      if (begun !== undefined) return begun.runStep(done)
      const call = open(request, reply)
      if (call === null) return
      request[CALL] = call
      const goOn = (): void => {
        done()
        call.endIfLeft()
      }
      call.start(() => call.runStep(goOn))
    }
    return nameFunction(name, runStep)
  })
  // Named for traces, which call a handler by its function.
  const callService = (request: RequestWithCall, reply: FastifyReply): void => {
    const { [CALL]: call } = request
    if (call === undefined) open(request, reply)?.start()
    else call.proceed()
  }
  return { preHandler, handler: callService }
}
