import type { FastifyInstance } from 'fastify'
import { isAuthentication } from '../../auth/default-authentication.ts'
import type { Application } from '../../core/index.ts'
import type { Routing } from './request-path.ts'
import { decodePercent, fold, getRouting, splitPath, toPath } from './request-path.ts'

/**
 * Returns a test whether URLs are at or below a path, which may have placeholders. It reads a URL as the routers do, so
 * that no other spelling of a path bypasses it.
 */
export function createPathTest(path: string, server: FastifyInstance): (url: string) => boolean {
  const routing = getRouting(server)
  const tests = splitPath(path).map((segment) => createSegmentTest(segment, routing))
  if (tests.length === 0) return () => true
  return (url) => {
    // Folded after decoding, since encoded letters may be upper case.
    const segments = splitPath(toPath(url, routing)).map((one) => fold(decodePercent(one), routing))
    return tests.every((fits, index) => fits(segments[index]))
  }
}

/**
 * A path is not a URL: a service at `a%20b` is reached by `/a%2520b`. Both readings of an encoded path match, since a
 * guard should rather run too often than not at all.
 */
function createSegmentTest(
  wanted: string,
  routing: Routing,
): (segment: string | undefined) => boolean {
  if (wanted.startsWith(':')) return (segment) => segment !== undefined
  const spellings = [fold(wanted, routing), fold(decodePercent(wanted), routing)]
  return (segment) => segment !== undefined && spellings.includes(segment)
}

/** Tells which URLs are at or below an authentication service, whether or not it responds to them. */
export interface LoginPaths {
  includes(url: string): boolean
}

/** Returns the paths of the current authentication services of an application. */
export function findLoginPaths(app: Application, scope: FastifyInstance): LoginPaths {
  const tests = [...app.entries]
    .filter(([, { service }]) => isAuthentication(service))
    .map(([path]) => createPathTest(`${scope.prefix}/${path}`, scope))
  return { includes: (url) => tests.some((isBelow) => isBelow(url)) }
}
