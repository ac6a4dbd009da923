import type { Document } from 'bson'
import { Timestamp } from 'bson'
import { isDocument, typeNameOf } from '../../matching/bson-type.ts'
import { CommandError } from '../../matching/command-error.ts'
import { compareStrings, isEqual } from '../../matching/compare.ts'
import { arrayOn, clone, isIndex, startsWithOperator } from '../../matching/field-paths.ts'
import type { PlaceholderContext } from './field-changes.ts'
import { compileArrayFilters, expandPath, modifyField } from './field-changes.ts'
import type { UpdateOptions } from './update-operators.ts'
import { NEVER_CREATING, toTimestamp, UPDATE_OPERATORS } from './update-operators.ts'

/** What compiling an update needs. */
export interface UpdateContext extends UpdateOptions, PlaceholderContext {
  /** Returns a pipeline as a function of one document. */
  readonly compilePipeline: (pipeline: readonly Document[]) => (document: Document) => Document
}

/** Returns a new document from an old one, which stays as it is. */
export type Updater = (document: Document, isInsert: boolean) => Document

/** Returns an update (operators, a replacement or a pipeline) as a function. */
export function compileUpdate(update: unknown, context: UpdateContext): Updater {
  const change = compileChange(update, context)
  return (document, isInsert) => {
    const updated = change(document, isInsert)
    const id: unknown = document._id
    const isKept = isEqual(id, updated._id) && typeNameOf(id) === typeNameOf(updated._id)
    if (id !== undefined && !isKept) {
      const message =
        "Performing an update on the path '_id' would modify the immutable field '_id'"
      throw new CommandError(66, message)
    }
    return updated
  }
}

function compileChange(update: unknown, context: UpdateContext): Updater {
  if (Array.isArray(update)) {
    if (context.arrayFilters !== undefined) {
      throw new CommandError(9, 'arrayFilters may not be specified for pipeline-style updates')
    }
    const run = context.compilePipeline(update)
    return (document) => replace(document, run(document))
  }
  if (!isDocument(update)) throw new CommandError(9, 'The update must be an object or an array')
  if (isReplacement(update)) return compileReplacement(update, context)
  return compileOperators(update, context)
}

/** Returns whether an update is a new document, rather than operators or a pipeline. */
export function isReplacement(update: unknown): update is Document {
  return isDocument(update) && !startsWithOperator(update)
}

function compileReplacement(update: Document, { arrayFilters, now }: UpdateContext): Updater {
  const dollar = Object.keys(update).find((name) => name.startsWith('$'))
  if (dollar !== undefined) {
    const message = `The dollar ($) prefixed field '${dollar}' is not allowed in the context of a replacement`
    throw new CommandError(52, message)
  }
  if (arrayFilters !== undefined) {
    throw new CommandError(9, 'arrayFilters may not be specified for a replacement')
  }
  const stamped = stampEmptyTimestamps(update, now)
  return (document) => replace(document, stamped)
}

/** The `_id` comes first, and is kept if the replacement has none. */
function replace({ _id: old }: Document, { _id = old, ...fields }: Document): Document {
  return _id === undefined ? fields : { _id, ...fields }
}

/** Returns a document in which empty timestamps, except in `_id`, are set to the time. */
export function stampEmptyTimestamps(document: Document, now: Date): Document {
  const fields = Object.entries(document).map(([name, value]) => {
    const isEmpty = name !== '_id' && value instanceof Timestamp && value.isZero()
    return [name, isEmpty ? toTimestamp(now) : value]
  })
  return Object.fromEntries(fields)
}

/** One operator on one path. */
interface Step {
  /** Returns the paths that the path means in a document. */
  readonly expand: (document: Document, isInsert: boolean) => string[][]
  readonly apply: (copy: Document, parts: readonly string[]) => void
}

function compileOperators(update: Document, context: UpdateContext): Updater {
  const targets = Object.entries(update).flatMap(([operator, fields]) => {
    if (operator !== '$rename' && !UPDATE_OPERATORS.has(operator)) {
      const message = `Unknown modifier: ${operator}: it is not supported by the embedded server`
      throw new CommandError(9, message)
    }
    if (!isDocument(fields)) throw new CommandError(9, `Modifiers operate on fields: ${operator}`)
    return Object.entries(fields).map(([path, operand]) => {
      const target = operator === '$rename' ? checkRename(path, operand) : path
      return { operator, path, operand, target }
    })
  })
  const paths = targets.flatMap(({ path, target }) => (target === path ? [path] : [path, target]))
  for (const path of paths) checkPath(path)
  checkConflicts(paths, 40)
  checkPlaceholders(paths)
  const placeholders = compileArrayFilters(paths, context)
  // MongoDB visits the paths in this order, so it adds new fields in this order.
  targets.sort((a, b) => comparePaths(a.target.split('.'), b.target.split('.')))
  const steps = targets.map(({ operator, path, operand, target }): Step => {
    const parts = path.split('.')
    if (operator === '$rename') {
      return { expand: () => [parts], apply: (copy) => rename(copy, path, target) }
    }
    const change = UPDATE_OPERATORS.get(operator)
    const kept = operator === '$unset' ? 'leave any' : 'leave'
    const missing = NEVER_CREATING.has(operator) ? kept : 'create'
    // An invalid operand is rejected even if no document is found.
    change?.(missing === 'leave' ? [] : undefined, operand, context, path)
    return {
      expand: (document, isInsert) =>
        operator === '$setOnInsert' && !isInsert
          ? []
          : expandPath(document, parts, placeholders, context),
      apply: (copy, parts) =>
        modifyField(copy, parts, missing, (old) => change?.(old, clone(operand), context, path)),
    }
  })
  const mayMeet = paths.length > 1 && paths.some((path) => path.includes('.$'))
  return (document, isInsert) => {
    const changes = steps.flatMap(({ expand, apply }) =>
      expand(document, isInsert).map((parts) => ({ parts, apply })),
    )
    // Two placeholders may mean the same item.
    if (mayMeet) {
      const changed = changes.map(({ parts }) => parts.join('.'))
      checkConflicts(changed, 40)
    }
    const copy = clone(document)
    for (const { parts, apply } of changes) apply(copy, parts)
    return copy
  }
}

/** Returns the new path of a field. @throws {CommandError} 2 it is the same path, or not a field's */
function checkRename(from: string, to: unknown): string {
  if (typeof to !== 'string' || [from, to].some((path) => path.includes('.$'))) {
    throw new CommandError(2, 'The fields of $rename must be strings without placeholders')
  }
  if (`${from}.`.startsWith(`${to}.`) || `${to}.`.startsWith(`${from}.`)) {
    throw new CommandError(2, 'The source and target field for $rename must differ')
  }
  return to
}

function rename(document: Document, from: string, to: string): void {
  if ([from, to].some((path) => arrayOn(document, path.split('.').slice(0, -1)))) {
    throw new CommandError(2, 'The source and target field for $rename must not be in an array')
  }
  let moved: unknown
  modifyField(document, from.split('.'), 'leave', (old) => {
    moved = old
    return undefined
  })
  if (moved !== undefined) modifyField(document, to.split('.'), 'create', () => moved)
}

/** @throws {CommandError} 52, 56, 2 the path has an empty part, an operator, or `$` twice */
function checkPath(path: string): void {
  const parts = path.split('.')
  if (parts.includes('')) {
    const message = `The update path '${path}' contains an empty field name, which is not allowed.`
    throw new CommandError(56, message)
  }
  const wrong = parts.find(
    (part, at) =>
      part.startsWith('$') && (at === 0 || !/^\$(\[([a-z][a-zA-Z0-9]*)?\])?$/.test(part)),
  )
  if (wrong !== undefined) {
    const message = `The dollar ($) prefixed field '${wrong}' in '${path}' is not allowed.`
    throw new CommandError(wrong.startsWith('$[') ? 2 : 52, message)
  }
  if (parts.filter((part) => part === '$').length > 1) {
    throw new CommandError(2, `Too many positional (i.e. '$') elements found in path '${path}'`)
  }
}

/** @throws {CommandError} `code` a path is given twice, or lies inside another one */
export function checkConflicts(paths: readonly string[], code: number): void {
  const sorted = paths.toSorted((a, b) => comparePaths(a.split('.'), b.split('.')))
  for (const [index, path] of sorted.entries()) {
    const previous = sorted[index - 1]
    if (previous !== undefined && (path === previous || path.startsWith(`${previous}.`))) {
      const message = `Setting the path '${path}' would create a conflict at '${previous}'`
      throw new CommandError(code, message)
    }
  }
}

/** @throws {CommandError} 40 items of one array are addressed by `$[]` or `$[name]` and in another way */
function checkPlaceholders(paths: readonly string[]): void {
  const kinds = new Map<string, boolean>()
  for (const path of paths) {
    for (const [at, part] of path.split('.').entries()) {
      const parent = path.split('.').slice(0, at).join('.')
      const isOpen = part.startsWith('$[')
      if (kinds.get(parent) === !isOpen) {
        const message = `Updating the path '${path}' would create a conflict at '${parent}'`
        throw new CommandError(40, message)
      }
      kinds.set(parent, isOpen)
    }
  }
}

/** Returns below, at or above zero: the order in which MongoDB visits paths. */
function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (part === other) continue
    if (isIndex(part) && isIndex(other)) return Number(part) - Number(other)
    return compareStrings(part, other)
  }
  return a.length - b.length
}
