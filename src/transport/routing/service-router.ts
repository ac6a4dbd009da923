import type { FastifyInstance } from 'fastify'
import findMyWay from 'find-my-way'
import { RegistrationError } from '../../core/errors/setup-errors.ts'
import type { Application, ServiceEntry } from '../../core/index.ts'
import { stripSlashes } from '../../core/index.ts'
import type { Routing } from './request-path.ts'
import {
  DEFAULT_ROUTING,
  getRouting,
  isCanonical,
  isPathTarget,
  MAX_PARAM_LENGTH,
  toPath,
} from './request-path.ts'

/** What a URL addresses: a service, a record of it if there is an id, and the route values. */
export interface ServiceMatch {
  readonly entry: ServiceEntry
  readonly id: string | null
  readonly route: Record<string, string>
  /** Whether a slash follows the path of the service, but no id. */
  readonly lacksId: boolean
}

/** Where the services are, and how their server reads paths. */
interface ServiceRouterOptions extends Partial<Routing> {
  /** Path that all services are below; may hold placeholders. Default: none. */
  readonly prefix?: string
  /** Whether custom methods have their own paths. Default: `false`. */
  readonly methodPaths?: boolean
}

/** Name of the placeholder for the id, both in Fastify's routes and in those of the router. */
export const ID_PLACEHOLDER = '__id'

/** Placeholders whose values `params.route` would not have. */
const RESERVED: ReadonlySet<string> = new Set([`:${ID_PLACEHOLDER}`, ':__proto__'])

const ANY_VERB = 'GET'

type Router = findMyWay.Instance<findMyWay.HTTPVersion.V1>

/** The value that the router stores for each path. */
interface Registered {
  readonly entry: ServiceEntry
  /** Whether this is the root service, where `/` does not lack an id. */
  readonly isRoot: boolean
}

/**
 * Finds the service for a path where Fastify's own routes do not: services that were registered
 * after the start, long ids, verbs without a method. A literal segment takes precedence over a
 * placeholder, and of two services with the same shape the one registered first wins.
 */
export class ServiceRouter {
  readonly #app: Application
  readonly #routing: Routing
  readonly #prefix: string
  readonly #methodPaths: boolean
  /** Built for the first path, and again once services have changed: few servers and applications need it. */
  #router: Router | null = null

  constructor(
    app: Application,
    { prefix = '', methodPaths = false, ...routing }: ServiceRouterOptions = {},
  ) {
    this.#app = app
    this.#methodPaths = methodPaths
    this.#routing = { ...DEFAULT_ROUTING, ...routing }
    this.#prefix = stripSlashes(prefix) === '' ? '' : `/${stripSlashes(prefix)}`
    app.observe(() => {
      this.#router = null
    })
  }

  /** Returns a router for the current services, without those whose path no URL can have. */
  #createRouter(): Router {
    const router = findMyWay({ ...this.#routing, maxParamLength: MAX_PARAM_LENGTH })
    const shapes = new Set<string>()
    for (const [path, entry] of this.#app.entries) {
      const isServable = findFault(toCollection(path), this.#prefix) === undefined
      for (const pattern of isServable ? toPatterns(path) : []) {
        const shape = this.toShape(pattern)
        if (shapes.has(shape)) continue
        shapes.add(shape)
        const registered: Registered = { entry, isRoot: path === '/' }
        const url = pattern === '/' && this.#prefix !== '' ? '' : pattern
        // The router only matches paths; it never handles anything.
        router.on(ANY_VERB, `${this.#prefix}${url}`, () => undefined, registered)
      }
    }
    return router
  }

  /**
   * Returns the target of a request, `null` if nothing is served there. Each segment is percent-decoded once, and a
   * trailing slash is ignored. Any other spelling matches nothing, since a guard in front of the server may read it as
   * another path.
   */
  find(target: string): ServiceMatch | null {
    const sent = toPath(target, this.#routing)
    // Fastify's router does the same with this option.
    const path = this.#routing.ignoreDuplicateSlashes ? sent.replaceAll(/\/{2,}/g, '/') : sent
    if (!isCanonical(path)) return null
    const endsInSlash = path.length > 1 && path.endsWith('/')
    this.#router ??= this.#createRouter()
    const found = this.#router.find(ANY_VERB, endsInSlash ? path.slice(0, -1) : path)
    if (found === null) return null
    const { entry, isRoot } = found.store as Registered
    const { [ID_PLACEHOLDER]: id = null, ...values } = found.params as Record<string, string>
    const { singleton = false } = entry.options
    // A segment after the path of a singleton is not an id.
    if (singleton && id !== null && !this.#methodPaths) return null
    // Empty if a prefix has a literal and a placeholder in one segment.
    if (Object.values(values).includes('')) return null
    const route = { ...entry.options.routeParams, ...values } as Record<string, string>
    return { entry, id, route, lacksId: endsInSlash && id === null && !isRoot && !singleton }
  }

  /** Returns the pattern without the names of its placeholders: what makes two routes the same. */
  toShape(pattern: string): string {
    const shape = pattern.replace(/:[^/]+/g, ':')
    return this.#routing.caseSensitive ? shape : shape.toLowerCase()
  }
}

/**
 * Returns the two routes of a service: all records, and one record.
 * @param prefix the prefix, if it is known
 * @throws {TypeError} no URL can have the path, or a value in it would be lost
 */
export function toPatterns(path: string, prefix = ''): [collection: string, record: string] {
  const collection = toCollection(path)
  const fault = findFault(collection, prefix)
  if (fault !== undefined) throw new RegistrationError(fault)
  return [collection === '' ? '/' : collection, `${collection}/:${ID_PLACEHOLDER}`]
}

function toCollection(path: string): string {
  return path === '/' ? '' : `/${path}`
}

/**
 * Returns what is wrong with a path. A placeholder is a whole segment with a unique name; other characters with a
 * meaning for the router are rejected.
 */
function findFault(collection: string, prefix: string): string | undefined {
  const segment = collection
    .split('/')
    .slice(1)
    .find((text) => !isSegment(text))
  if (segment !== undefined) {
    return `'${segment}' in the path '${collection}' must be a literal or one ':placeholder'`
  }
  const names = [...`${prefix}${collection}`.matchAll(/:\w+/g)].map(([name]) => name)
  const taken = names.find((name, index) => RESERVED.has(name) || names.indexOf(name) < index)
  if (taken === undefined) return undefined
  const reason = RESERVED.has(taken) ? 'has a name that is taken' : 'appears twice'
  return `The placeholder '${taken}' in the path '${prefix}${collection}' ${reason}: give it another name`
}

/** Returns whether services can be served below a path. */
export function isPrefix(value: unknown): boolean {
  if (value === '' || value === '/') return true
  return (
    typeof value === 'string' && /^\//.test(value) && value.slice(1).split('/').every(isSegment)
  )
}

function isSegment(segment: string): boolean {
  return /^:[A-Za-z_]\w*$/.test(segment) || /^[^:*()?#\s]+$/.test(segment)
}

/** The target of a path: a service and the values of its placeholders. */
export interface ServiceLookup {
  /** The service as callers use it, with hooks and events. */
  readonly service: object
  /** The route values, and the id as `__id` if the path ends in one. */
  readonly params: Readonly<Record<string, string>>
}

/** Returns the function behind `app.lookup()`: it finds services as requests do. */
export function createLookup(
  app: Application,
  server: FastifyInstance,
): (path: string) => ServiceLookup | null {
  const router = new ServiceRouter(app, getRouting(server))
  return (path: unknown) => {
    if (typeof path !== 'string') return null
    // As services are registered, a path may come without its first slash.
    const match = router.find(isPathTarget(path) ? path : `/${path}`)
    if (match === null) return null
    const { entry, id, route } = match
    return {
      service: entry.service,
      params: id === null ? route : { ...route, [ID_PLACEHOLDER]: id },
    }
  }
}
