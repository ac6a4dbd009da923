import { isObject } from './value-kind.ts'

/** One page: records, with counts, cursors and what hooks added. */
export interface FoundPage extends Record<string, unknown> {
  readonly data: readonly unknown[]
}

/**
 * Whether a method returned a page. As in Feathers, any object with a list `data` that `find` returns is a
 * page, since a custom service may omit counts. In results of other methods, `data` is an ordinary field.
 */
export function isPage(method: string, result: unknown): result is FoundPage {
  return method === 'find' && isObject(result) && Array.isArray(result['data'])
}

/** Returns the records of a result of `find`, a page or a list; `null` if it is neither. */
export function listFound(result: unknown): readonly unknown[] | null {
  if (Array.isArray(result)) return result
  return isPage('find', result) ? result.data : null
}

/** Returns the first record of a result of `find`; the result itself if it is neither a page nor a list. */
export function getFirst(result: unknown): unknown {
  const found = listFound(result)
  return found === null ? result : found[0]
}

/** Returns a result with its records mapped by a function: the list of a page, else the result itself. */
export function replaceRecords(
  method: string,
  result: unknown,
  replace: (records: unknown) => unknown,
): unknown {
  return isPage(method, result) ? { ...result, data: replace(result.data) } : replace(result)
}
