import type { FastifyInstance } from 'fastify'
import { getRouting, toPath, toSegments } from './request-path.ts'

/**
 * Returns a test whether URLs are at or below a path, which may hold placeholders. It sees a URL as
 * the routers do, so that no other spelling of a path gets past it.
 */
export function createPathTest(path: string, server: FastifyInstance): (url: string) => boolean {
  const routing = getRouting(server)
  const wanted = toSegments(path, routing)
  if (wanted.length === 0) return () => true
  return (url) => {
    const segments = toSegments(toPath(url, routing), routing)
    return wanted.every((segment, index) => {
      return segment.startsWith(':') ? segments[index] !== undefined : segment === segments[index]
    })
  }
}
