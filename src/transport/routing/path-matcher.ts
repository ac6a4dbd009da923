import type { FastifyInstance } from 'fastify'
import { isAuthentication } from '../../auth/default-authentication.ts'
import type { Application } from '../../core/index.ts'
import type { Routing } from './request-path.ts'
import { decodePercent, fold, getRouting, splitPath, toPath, toSegments } from './request-path.ts'

/**
 * Returns a test whether URLs are at or below a path, which may hold placeholders. It sees a URL as
 * the routers do, so that no other spelling of a path gets past it.
 */
export function createPathTest(path: string, server: FastifyInstance): (url: string) => boolean {
  const routing = getRouting(server)
  const tests = splitPath(path).map((segment) => createSegmentTest(segment, routing))
  if (tests.length === 0) return () => true
  return (url) => {
    const segments = toSegments(toPath(url, routing), routing)
    return tests.every((fits, index) => fits(segments[index]))
  }
}

/**
 * A path is no URL: a service at `a%20b` is reached by `/a%2520b`. Both readings of an encoded path
 * match, since a guard had better run too often than not at all.
 */
function createSegmentTest(
  wanted: string,
  routing: Routing,
): (segment: string | undefined) => boolean {
  if (wanted.startsWith(':')) return (segment) => segment !== undefined
  const spellings = [fold(wanted, routing), fold(decodePercent(wanted), routing)]
  return (segment) => segment !== undefined && spellings.includes(segment)
}

/**
 * Tells which URLs are at or below an authentication service, also those that no service answers.
 */
export class LoginPaths {
  readonly #app: Application
  readonly #scope: FastifyInstance
  /** One for each authentication service, `null` until somebody asks. */
  #tests: readonly ((url: string) => boolean)[] | null = null

  constructor(app: Application, scope: FastifyInstance) {
    this.#app = app
    this.#scope = scope
  }

  /** To be called when services come or go. */
  rebuild(): void {
    this.#tests = null
  }

  includes(url: string): boolean {
    this.#tests ??= this.#createTests()
    return this.#tests.some((isBelow) => isBelow(url))
  }

  #createTests(): ((url: string) => boolean)[] {
    return [...this.#app.entries]
      .filter(([, { service }]) => isAuthentication(service))
      .map(([path]) => createPathTest(`${this.#scope.prefix}/${path}`, this.#scope))
  }
}
