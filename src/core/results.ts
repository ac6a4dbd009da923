import { isObject } from './value-kind.ts'

/** One page: records, with counts, cursors and what hooks have added. */
export interface FoundPage extends Record<string, unknown> {
  readonly data: readonly unknown[]
}

/**
 * Whether a method has returned a page. As in Feathers, every object that `find` returns with a list `data` is one,
 * since a custom service may leave out counts. In results of other methods `data` is a field like any other.
 */
export function isPage(method: string, result: unknown): result is FoundPage {
  return method === 'find' && isObject(result) && Array.isArray(result['data'])
}

/** Returns the records of what `find` has returned, a page or a list; `null` if it is neither. */
export function listFound(result: unknown): readonly unknown[] | null {
  if (Array.isArray(result)) return result
  return isPage('find', result) ? result.data : null
}

/** Returns the first record of what `find` has returned; the result itself if it is neither a page nor a list. */
export function getFirst(result: unknown): unknown {
  const found = listFound(result)
  return found === null ? result : found[0]
}

/** Returns a result with what a function makes of its records: of the list of a page, else of the result itself. */
export function replaceRecords(
  method: string,
  result: unknown,
  replace: (records: unknown) => unknown,
): unknown {
  return isPage(method, result) ? { ...result, data: replace(result.data) } : replace(result)
}
