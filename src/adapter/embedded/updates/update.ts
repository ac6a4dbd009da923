import type { Document } from 'bson'
import { ObjectId } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { isOperators } from '../queries/filter.ts'
import { isDocument } from '../values/bson-type.ts'
import { isEqual } from '../values/compare.ts'
import { clone, getField, isIndex } from '../values/field-paths.ts'
import { isRegex } from '../values/regular-expression.ts'
import { modify } from './modify-field.ts'
import type { PlaceholderContext } from './positional-paths.ts'
import { compileArrayFilters, expandPath } from './positional-paths.ts'
import type { UpdateOptions } from './update-operators.ts'
import { NEVER_CREATING, UPDATE_OPERATORS } from './update-operators.ts'

/** What an update must know about the statement it belongs to. */
export interface UpdateContext extends UpdateOptions, PlaceholderContext {
  /** Makes an aggregation pipeline ready to run over one document. */
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
    if (id !== undefined && !isEqual(id, updated._id)) {
      throw new CommandError(
        66,
        "Performing an update on the path '_id' would modify the immutable field '_id'",
      )
    }
    return updated
  }
}

/** Returns the document an upsert starts from: the equalities of its filter. */
export function toUpsertBase(filter: Document, isReplacement: boolean): Document {
  const base: Document = {}
  for (const [path, value] of readEqualities(filter)) {
    const isWanted = !isReplacement || path === '_id'
    if (isWanted) modify(base, path.split('.'), true, () => clone(value))
  }
  return base
}

/** Returns a document to be stored: with an `_id`, which is its first field. */
export function withId({ _id = new ObjectId(), ...fields }: Document): Document {
  return { _id, ...fields }
}

function compileChange(update: unknown, context: UpdateContext): Updater {
  if (Array.isArray(update)) {
    if (context.arrayFilters !== undefined) {
      throw new CommandError(9, 'arrayFilters may not be specified for pipeline-style updates')
    }
    const run = context.compilePipeline(update)
    return (document) => run(document)
  }
  if (!isDocument(update)) throw new CommandError(9, 'The update must be an object or an array')
  if (isReplacement(update)) return compileReplacement(update, context)
  const steps = readSteps(update, context)
  return (document, isInsert) => {
    const copy = clone(document)
    for (const step of steps) step(copy, isInsert, document)
    return copy
  }
}

/** Returns whether an update is a new document, and neither operators nor a pipeline. */
export function isReplacement(update: unknown): update is Document {
  return isDocument(update) && Object.keys(update)[0]?.startsWith('$') !== true
}

function compileReplacement(update: Document, { arrayFilters }: UpdateContext): Updater {
  const dollar = Object.keys(update).find((name) => name.startsWith('$'))
  if (dollar !== undefined) {
    throw new CommandError(
      52,
      `The dollar ($) prefixed field '${dollar}' is not allowed in the context of a replacement`,
    )
  }
  if (arrayFilters !== undefined) {
    throw new CommandError(9, 'arrayFilters may not be specified for a replacement')
  }
  return (document) => replace(document, update)
}

function replace(document: Document, replacement: Document): Document {
  const id: unknown = document._id ?? replacement._id
  return id === undefined ? { ...replacement } : { _id: id, ...replacement }
}

type Step = (copy: Document, isInsert: boolean, original: Document) => void

function readSteps(update: Document, context: UpdateContext): Step[] {
  const targets = Object.entries(update).flatMap(([operator, fields]) => {
    if (operator !== '$rename' && !UPDATE_OPERATORS.has(operator)) {
      throw new CommandError(9, `Unknown modifier: ${operator}: it is not in the embedded server`)
    }
    if (!isDocument(fields)) throw new CommandError(9, `Modifiers operate on fields: ${operator}`)
    return Object.entries(fields).map(([path, operand]) => ({ operator, path, operand }))
  })
  const paths = targets.flatMap(({ operator, path, operand }) =>
    operator === '$rename' ? [path, String(operand)] : [path],
  )
  for (const path of paths) checkPath(path)
  checkConflicts(paths)
  const placeholders = compileArrayFilters(paths, context)
  // MongoDB goes through the paths in this order, and so adds new fields in it.
  targets.sort((a, b) => comparePaths(a.path.split('.'), b.path.split('.')))
  return targets.map(({ operator, path, operand }) => {
    if (operator === '$rename') return (copy) => rename(copy, path, operand)
    const apply = UPDATE_OPERATORS.get(operator)
    const creates = !NEVER_CREATING.has(operator)
    return (copy, isInsert, original) => {
      if (operator === '$setOnInsert' && !isInsert) return
      for (const parts of expandPath(copy, path.split('.'), placeholders, context, original)) {
        modify(copy, parts, creates, (old) => apply?.(old, clone(operand), context, path))
      }
    }
  })
}

function checkPath(path: string): void {
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

function checkConflicts(paths: readonly string[]): void {
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

function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (part === other) continue
    if (isIndex(part) && isIndex(other)) return Number(part) - Number(other)
    return part < other ? -1 : 1
  }
  return a.length - b.length
}

function rename(document: Document, from: string, to: unknown): void {
  if (typeof to !== 'string')
    throw new CommandError(2, `The 'to' field for $rename must be a string`)
  if ([from, to].some((path) => leadsThroughArray(document, path.split('.')))) {
    throw new CommandError(2, 'The source and target field for $rename must not be in an array')
  }
  let moved: unknown
  modify(document, from.split('.'), false, (old) => {
    moved = old
    return undefined
  })
  if (moved !== undefined) modify(document, to.split('.'), true, () => moved)
}

function leadsThroughArray(document: Document, parts: readonly string[]): boolean {
  let value: unknown = document
  for (const part of parts) {
    if (Array.isArray(value)) return true
    if (!isDocument(value)) return false
    value = getField(value, part)
  }
  return false
}

/** Returns the fields that a filter says are equal to one value. */
function readEqualities(filter: Document): [string, unknown][] {
  return Object.entries(filter).flatMap(([name, condition]): [string, unknown][] => {
    const isAlone = Array.isArray(condition) && condition.length === 1
    if (name === '$and' || (name === '$or' && isAlone)) return condition.flatMap(readEqualities)
    if (name.startsWith('$') || isRegex(condition)) return []
    if (!isOperators(condition)) return [[name, condition]]
    if ('$eq' in condition) return [[name, condition.$eq]]
    const all: unknown = condition.$all
    return Array.isArray(all) && all.length === 1 && !isOperators(all[0]) ? [[name, all[0]]] : []
  })
}
