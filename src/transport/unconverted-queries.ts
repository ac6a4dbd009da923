import { isDeveloping } from '../core/errors/hint.ts'
import type { AnyApplication, Application } from '../core/index.ts'
import { lacksConversion } from '../core/query-conversion.ts'

/**
 * Warns of services whose queries compare the strings of URLs with numbers, dates and ids, which
 * finds nothing; not with `NODE_ENV=production`.
 */
export function warnOfUnconverted(app: AnyApplication): void {
  if (!isDeveloping()) return
  const { entries, logger } = app as unknown as Application
  const services = [...entries].flatMap(([path, entry]) => (lacksConversion(entry) ? [path] : []))
  if (services.length === 0) return
  logger.warn(
    { services },
    `Values in URLs are strings, and nothing converts them for ${quote(services)}: ?price=5 finds no number. Add a hook before find, see 'Values in queries' in docs/mongodb.md`,
  )
}

function quote(paths: readonly string[]): string {
  const noun = paths.length === 1 ? 'the service' : 'the services'
  return `${noun} ${paths.map((path) => `'${path}'`).join(', ')}`
}
