import type { HTTPMethod } from 'find-my-way'
import findMyWay from 'find-my-way'
import type { Application, ServiceEntry } from '../core/index.ts'
import { stripSlashes } from '../core/index.ts'

/** What a URL addresses: a service, a record of it if there is an id, and the route values. */
export interface ServiceMatch {
  readonly entry: ServiceEntry
  readonly id: string | null
  readonly route: Record<string, string>
}

/** Name of the placeholder for the id, in routes of Fastify and of the router alike. */
export const ID_PLACEHOLDER = '__id'

// Ids may be as long as a token: the limit that counts is that of the request line.
const MAX_PARAM_LENGTH = 16_384
const ANY_VERB: HTTPMethod = 'GET'

interface Target {
  readonly entry: ServiceEntry
}

/**
 * Finds the service for a path, for whatever Fastify's own routes do not cover: services that were
 * added after the start, slashes too many, long ids, verbs without a method. A literal segment comes
 * before a placeholder, and of two services with the same shape the first registered one counts.
 */
export class ServiceRouter {
  readonly #app: Application
  #router: findMyWay.Instance<findMyWay.HTTPVersion.V1>

  constructor(app: Application) {
    this.#app = app
    this.#router = createRouter()
    this.rebuild()
  }

  /** Reads the registered services anew, but for those whose path no URL can have. */
  rebuild(): void {
    this.#router = createRouter()
    const shapes = new Set<string>()
    for (const [path, entry] of this.#app.entries) {
      for (const pattern of isServable(path) ? toPatterns(path) : []) {
        const shape = toShape(pattern)
        if (shapes.has(shape)) continue
        shapes.add(shape)
        const target: Target = { entry }
        this.#router.on(ANY_VERB, pattern, noHandler, target)
      }
    }
  }

  /**
   * Returns what a path addresses, `null` for none. Each segment is percent-decoded once; slashes at
   * the ends do not count; an empty segment inside matches nothing.
   * @param path the path as it was sent, without query and prefix
   */
  find(path: string): ServiceMatch | null {
    const found = this.#router.find(ANY_VERB, `/${stripSlashes(path)}`)
    if (found === null) return null
    const { entry } = found.store as Target
    const { [ID_PLACEHOLDER]: id, ...values } = found.params as Record<string, string>
    if (id === '' || Object.values(values).includes('')) return null
    return { entry, id: id ?? null, route: { ...entry.options.routeParams, ...values } }
  }
}

/** Returns the two routes of a service: all records, and one record. */
export function toPatterns(path: string): [collection: string, record: string] {
  const collection = path === '/' ? '' : `/${path}`
  checkSegments(collection)
  return [collection === '' ? '/' : collection, `${collection}/:${ID_PLACEHOLDER}`]
}

/** Returns the pattern without the names of its placeholders: what makes two routes the same. */
export function toShape(pattern: string): string {
  return pattern.replace(/:[^/]+/g, ':')
}

/** Placeholders are whole segments; everything else that routers give a meaning is refused. */
function checkSegments(collection: string): void {
  const segment = collection.split('/').find((text) => !isSegment(text))
  if (segment === undefined) return
  throw new TypeError(
    `'${segment}' in service path '${collection}' must be a literal or one ':placeholder'`,
  )
}

function isServable(path: string): boolean {
  return path.split('/').every(isSegment)
}

function isSegment(segment: string): boolean {
  return /^:[A-Za-z_]\w*$/.test(segment) || !/[:*()?#\s]/.test(segment)
}

function createRouter(): findMyWay.Instance<findMyWay.HTTPVersion.V1> {
  return findMyWay({ maxParamLength: MAX_PARAM_LENGTH })
}

/** The router is only asked what matches; nothing is ever handled by it. */
const noHandler = (): undefined => undefined
