import type { FastifyInstance } from 'fastify'
import type { Routing } from './request-path.ts'
import { decode, fold, getRouting, splitPath, toPath, toSegments } from './request-path.ts'

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
 * A service at `a%20b` is reached by `/a%2520b`: a path is no URL. One that is written as if it were
 * is understood too, since a guard had better see too much.
 */
function createSegmentTest(
  wanted: string,
  routing: Routing,
): (segment: string | undefined) => boolean {
  if (wanted.startsWith(':')) return (segment) => segment !== undefined
  const spellings = [fold(wanted, routing), fold(decode(wanted), routing)]
  return (segment) => segment !== undefined && spellings.includes(segment)
}
