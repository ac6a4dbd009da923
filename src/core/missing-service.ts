import { withHint } from './hint.ts'
import { suggestName } from './name-suggestion.ts'

/** How many of the registered paths a hint names. */
const MAX_NAMED = 10

/** Returns options for the error of a path without a service: which one may be meant. */
export function hintAtService(path: string, paths: Iterable<string>): ErrorOptions {
  return withHint(`app.service('${path}')${toAdvice(path, [...paths])}`)
}

function toAdvice(path: string, paths: readonly string[]): string {
  if (paths.length === 0) return ': no service is registered yet, app.use() has to come first'
  const url = paths.find((pattern) => isUrlOf(path, pattern))
  if (url !== undefined) {
    const hasRoute = url.includes('/:') || url.startsWith(':')
    const route = hasRoute ? ', with its values in params.route' : ''
    return ` names a path of URLs: take app.service('${url}')${route}, and ids as arguments`
  }
  return (
    suggestName(path, paths) ||
    `: registered are ${paths.slice(0, MAX_NAMED).join(', ')}${paths.length > MAX_NAMED ? ', …' : ''}`
  )
}

/** Whether a path is one that a request to the service has: with route values, or with an id. */
function isUrlOf(path: string, pattern: string): boolean {
  const values = path.split('/')
  const parts = pattern.split('/')
  if (values.length !== parts.length && values.length !== parts.length + 1) return false
  return parts.every((part, index) => part.startsWith(':') || part === values[index])
}
