import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError } from '../../matching/command-error.ts'
import { getField, isIndex, setField } from '../../matching/field-paths.ts'
import type { FilterOptions, Predicate } from '../../matching/filter.ts'
import { compileFilter, withoutExpression } from '../../matching/filter.ts'
import { findPosition } from '../queries/array-position.ts'

/** What decides which array items the placeholders in an update's paths mean. */
export interface PlaceholderContext extends FilterOptions {
  readonly filter: Document
  readonly arrayFilters: unknown
}

/** Conditions on array items by their name in a path: `a.$[name].b`. */
type Placeholders = ReadonlyMap<string, Predicate>

/** Returns the array filters of an update by name. @throws {CommandError} one is not used */
export function compileArrayFilters(
  paths: readonly string[],
  context: PlaceholderContext,
): Placeholders {
  const placeholders = new Map<string, Predicate>()
  const filters: unknown[] = Array.isArray(context.arrayFilters) ? context.arrayFilters : []
  for (const filter of filters) {
    if (!isDocument(filter)) throw new CommandError(14, 'An array filter must be an object')
    const matches = compileFilter(filter, withoutExpression(context, 224))
    const names = new Set(readPaths(filter).map((path) => path.split('.')[0] ?? ''))
    const [name = ''] = names
    if (names.size !== 1 || placeholders.has(name)) {
      const message =
        'Each array filter needs exactly one top-level field name that no other filter has'
      throw new CommandError(9, message)
    }
    if (!paths.some((path) => path.includes(`$[${name}]`))) {
      const message = `The array filter for identifier '${name}' was not used in the update`
      throw new CommandError(9, message)
    }
    placeholders.set(name, matches)
  }
  return placeholders
}

function readPaths(filter: Document): string[] {
  return Object.entries(filter).flatMap(([name, value]) =>
    Array.isArray(value) && name.startsWith('$') ? value.flatMap(readPaths) : [name],
  )
}

/** Expands a path with `$`, `$[]` or `$[name]` to paths without placeholders. */
export function expandPath(
  document: Document,
  parts: readonly string[],
  placeholders: Placeholders,
  context: PlaceholderContext,
): string[][] {
  const at = parts.findIndex((part) => part.startsWith('$'))
  if (at < 0) return [[...parts]]
  const placeholder = parts[at] ?? ''
  const head = parts.slice(0, at)
  const indexes =
    placeholder === '$'
      ? [findPosition(context.filter, document, context)]
      : matchingIndexes(document, head, placeholder.slice(2, -1), placeholders)
  return indexes.flatMap((index) =>
    expandPath(document, [...head, String(index), ...parts.slice(at + 1)], placeholders, context),
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
    const message = `The path '${head.join('.')}' must exist in the document in order to apply array updates.`
    throw new CommandError(2, message)
  }
  const matches = placeholders.get(name)
  if (name !== '' && matches === undefined) {
    throw new CommandError(2, `No array filter found for identifier '${name}'`)
  }
  return array.flatMap((item, index) => (matches?.({ [name]: item }) === false ? [] : [index]))
}

const MAX_ARRAY_PADDING = 1_500_000

/**
 * Changes one field, in place, to what `change` returns for its old value: `undefined` removes it, and an
 * item of an array becomes null. A missing field is created, with the documents on its path, or left missing.
 * @throws {CommandError} 28 the path leads through a value that cannot have such a field, unless missing
 *   fields may be left
 */
export function modifyField(
  document: Document,
  parts: readonly string[],
  missing: 'create' | 'leave' | 'leave any',
  change: (old: unknown) => unknown,
): void {
  let target: Document | unknown[] = document
  for (const [at, part] of parts.entries()) {
    if (!canHold(target, part)) {
      if (missing === 'leave any') return
      const holder = parts.slice(0, at).join('.')
      throw new CommandError(28, `Cannot create field '${part}' in element '${holder}'`)
    }
    const old = getField(target, part)
    if (old === undefined && missing !== 'create') return
    if (at === parts.length - 1) {
      const value = change(old)
      if (value === undefined) remove(target, part)
      else if (value !== old) put(target, part, value)
      return
    }
    if (old === undefined) put(target, part, {})
    target = getField(target, part) as Document
  }
}

function canHold(target: unknown, part: string): target is Document | unknown[] {
  return isDocument(target) || (Array.isArray(target) && isIndex(part))
}

function put(target: Document | unknown[], part: string, value: unknown): void {
  if (!Array.isArray(target)) {
    setField(target, part, value)
    return
  }
  const index = Number(part)
  if (index - target.length > MAX_ARRAY_PADDING) {
    throw new CommandError(2, `Cannot backfill the array up to index ${part}`)
  }
  while (target.length < index) target.push(null)
  target[index] = value
}

function remove(target: Document | unknown[], part: string): void {
  if (!Array.isArray(target)) delete target[part]
  else if (Number(part) < target.length) target[Number(part)] = null
}
