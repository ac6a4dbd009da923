import { CommandError } from '../errors/command-error.ts'
import { isIndex } from '../values/field-paths.ts'

/** @throws {CommandError} 52, 56 the path has an empty part or an operator */
export function checkPath(path: string): void {
  const parts = path.split('.')
  if (parts.includes('')) {
    throw new CommandError(
      56,
      `The update path '${path}' contains an empty field name, which is not allowed.`,
    )
  }
  const wrong = parts.find(
    (part, at) => part.startsWith('$') && (at === 0 || !/^\$(\[\w*\])?$/.test(part)),
  )
  if (wrong !== undefined) {
    throw new CommandError(
      52,
      `The dollar ($) prefixed field '${wrong}' in '${path}' is not allowed.`,
    )
  }
}

/** @throws {CommandError} 40 a path is given twice, or leads into another one */
export function checkConflicts(paths: readonly string[]): void {
  const sorted = paths.toSorted((a, b) => comparePaths(a.split('.'), b.split('.')))
  for (const [index, path] of sorted.entries()) {
    const previous = sorted[index - 1]
    if (previous !== undefined && (path === previous || path.startsWith(`${previous}.`))) {
      throw new CommandError(
        40,
        `Updating the path '${path}' would create a conflict at '${previous}'`,
      )
    }
  }
}

/** Returns below, at or above zero: the order in which MongoDB goes through paths. */
export function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (part === other) continue
    if (isIndex(part) && isIndex(other)) return Number(part) - Number(other)
    return part < other ? -1 : 1
  }
  return a.length - b.length
}
