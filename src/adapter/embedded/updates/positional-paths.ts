import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { findPosition } from '../queries/array-position.ts'
import type { FilterOptions, Predicate } from '../queries/filter.ts'
import { compileFilter } from '../queries/filter.ts'
import { isDocument } from '../values/bson-type.ts'
import { getField } from '../values/field-paths.ts'

/** What decides which array items the placeholders in an update's paths stand for. */
export interface PlaceholderContext extends FilterOptions {
  readonly filter: Document
  readonly arrayFilters: unknown
}

/** Conditions on array items by the name that a path has for them: `a.$[name].b`. */
export type Placeholders = ReadonlyMap<string, Predicate>

/** Returns the array filters of an update by their names. @throws {CommandError} one is not used */
export function compileArrayFilters(
  paths: readonly string[],
  context: PlaceholderContext,
): Placeholders {
  const placeholders = new Map<string, Predicate>()
  const filters: unknown[] = Array.isArray(context.arrayFilters) ? context.arrayFilters : []
  for (const filter of filters) {
    if (!isDocument(filter)) throw new CommandError(14, 'An array filter must be an object')
    const names = new Set(readPaths(filter).map((path) => path.split('.')[0] ?? ''))
    const [name = ''] = names
    if (names.size !== 1 || placeholders.has(name)) {
      throw new CommandError(
        9,
        'Each array filter needs exactly one top-level field name of its own',
      )
    }
    if (!paths.some((path) => path.includes(`$[${name}]`))) {
      throw new CommandError(
        9,
        `The array filter for identifier '${name}' was not used in the update`,
      )
    }
    placeholders.set(name, compileFilter(filter, context))
  }
  return placeholders
}

function readPaths(filter: Document): string[] {
  return Object.entries(filter).flatMap(([name, value]) =>
    Array.isArray(value) && name.startsWith('$') ? value.flatMap(readPaths) : [name],
  )
}

/** Returns the paths without placeholders that a path with `$`, `$[]` or `$[name]` stands for. */
export function expandPath(
  document: Document,
  parts: readonly string[],
  placeholders: Placeholders,
  context: PlaceholderContext,
  original: Document,
): string[][] {
  const at = parts.findIndex((part) => part.startsWith('$'))
  if (at < 0) return [[...parts]]
  const placeholder = parts[at] ?? ''
  const head = parts.slice(0, at)
  const path = head.join('.')
  const indexes =
    placeholder === '$'
      ? [findPosition(context.filter, path, original, context)]
      : matchingIndexes(document, head, placeholder.slice(2, -1), placeholders)
  return indexes.flatMap((index) =>
    expandPath(
      document,
      [...head, String(index), ...parts.slice(at + 1)],
      placeholders,
      context,
      original,
    ),
  )
}

function matchingIndexes(
  document: Document,
  head: readonly string[],
  name: string,
  placeholders: Placeholders,
): number[] {
  const array: unknown = head.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null ? getField(value, part) : undefined,
    document,
  )
  if (!Array.isArray(array)) {
    throw new CommandError(
      2,
      `The path '${head.join('.')}' must exist in the document in order to apply array updates.`,
    )
  }
  const matches = placeholders.get(name)
  if (name !== '' && matches === undefined) {
    throw new CommandError(2, `No array filter found for identifier '${name}'`)
  }
  return array.flatMap((item, index) => (matches?.({ [name]: item }) === false ? [] : [index]))
}
