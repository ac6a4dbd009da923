import type { FastifyInstance } from 'fastify'
import { toPath, toSegments } from './request-path.ts'

/**
 * Returns a test whether URLs are at or below a path, which may hold placeholders. It sees a URL as
 * the routers do, so that no other spelling of a path gets past it.
 */
export function createPathTest(path: string, server: FastifyInstance): (url: string) => boolean {
  const { isLoose, hasSemicolons } = toRouting(server)
  const toComparable = isLoose ? toLowerSegments : toSegments
  const wanted = toComparable(path)
  if (wanted.length === 0) return () => true
  return (url) => {
    const [full = ''] = hasSemicolons ? url.split(';', 1) : [url]
    const segments = toComparable(toPath(full))
    return wanted.every((segment, index) => {
      return segment.startsWith(':') ? segments[index] !== undefined : segment === segments[index]
    })
  }
}

/** Fastify's options for what a path is, which stand at the top or among those of the router. */
interface PathOptions {
  readonly caseSensitive?: boolean
  readonly useSemicolonDelimiter?: boolean
}

function toRouting(server: FastifyInstance): { isLoose: boolean; hasSemicolons: boolean } {
  const config = server.initialConfig as PathOptions & { routerOptions?: PathOptions }
  const all = [config, config.routerOptions ?? {}]
  return {
    isLoose: all.some(({ caseSensitive }) => caseSensitive === false),
    hasSemicolons: all.some(({ useSemicolonDelimiter }) => useSemicolonDelimiter === true),
  }
}

function toLowerSegments(path: string): readonly string[] {
  return toSegments(path.toLowerCase())
}
