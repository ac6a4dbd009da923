import { ValidationFailed } from '../../errors/coded-errors.ts'
import { BadRequest } from '../../errors/index.ts'
import { isObject } from '../../value-kind.ts'

/** One issue with data or a query, as callers get it in the `data` of the error. */
export interface ValidationIssue {
  /** The place of the value, as a JSON pointer: `/author/name`. */
  readonly instancePath: string
  /** The place of the rule in the schema, as a JSON pointer. */
  readonly schemaPath: string
  /** The keyword of the rule. */
  readonly keyword: string
  /** The parameters of the rule: `{ limit: 8 }`. */
  readonly params: Readonly<Record<string, unknown>>
  /** What the value must be. */
  readonly message: string
}

/** The maximum number of issues reported for a call. */
const MAX_ISSUES = 20

/** Keywords whose errors repeat those of their alternatives. */
const SUMMARIES: ReadonlySet<unknown> = new Set(['anyOf', 'oneOf', 'if'])

/**
 * Returns the error for the issues found by a check, with their list as its `data`: `instancePath`,
 * `schemaPath`, `keyword`, `params` and `message` of each, never a sent value. With alternatives, the one
 * closest to the value comes first.
 */
export function createValidationError(found: readonly unknown[]): BadRequest {
  const errors = found.filter(isObject)
  const isSorted = !errors.some(({ keyword }) => SUMMARIES.has(keyword))
  const sorted = isSorted ? errors : errors.toSorted((one, other) => rankOf(one) - rankOf(other))
  return new ValidationFailed('validation failed', sorted.slice(0, MAX_ISSUES).map(toIssue))
}

/**
 * Returns the error of a list: adds the error of an item, with its index in the paths, to that of the items
 * before, if any.
 * @throws {unknown} the first error, if it is not a validation error
 */
export function joinFaults(
  before: BadRequest | undefined,
  error: unknown,
  index: number,
): BadRequest {
  const issues = readIssues(error)
  if (issues === undefined || !(error instanceof BadRequest)) {
    if (before === undefined) throw error
    return before
  }
  const placed = issues.map((issue) => ({
    ...issue,
    instancePath: `/${index}${issue.instancePath}`,
  }))
  if (before === undefined)
    return new ValidationFailed(error.message, placed, { cause: error.cause })
  const all = [...(readIssues(before) ?? []), ...placed]
  return new ValidationFailed('validation failed', all.slice(0, MAX_ISSUES))
}

/** Whether an error has no room for issues of more items. */
export function isFull(error: BadRequest): boolean {
  return (readIssues(error)?.length ?? 0) >= MAX_ISSUES
}

/** Returns the issues of a validation error, `undefined` for any other error. */
function readIssues(error: unknown): readonly ValidationIssue[] | undefined {
  if (!(error instanceof BadRequest) || !Array.isArray(error.data)) return undefined
  const issues: readonly unknown[] = error.data
  return issues.every(isIssue) ? issues : undefined
}

function isIssue(value: unknown): value is ValidationIssue {
  return isObject(value) && typeof value['instancePath'] === 'string'
}

/**
 * Returns the error that callers get for one thrown by a validator: errors of Ajv, also from validators of
 * `@feathersjs/schema`, become a `BadRequest`; others stay as they are.
 */
export function toValidationError(thrown: unknown): unknown {
  if (!isObject(thrown) || thrown['ajv'] !== true || !Array.isArray(thrown['errors'])) return thrown
  return createValidationError(thrown['errors'])
}

/** Copies only the public parts: with some options, Ajv's errors also contain the value and the schema. */
function toIssue(error: Readonly<Record<string, unknown>>): ValidationIssue {
  const { instancePath = '', schemaPath = '', keyword = '', params, message = '' } = error
  // For a discriminator, Ajv repeats the sent value.
  const { tagValue: _value, ...publicParams } = isObject(params) ? params : {}
  return {
    instancePath: String(instancePath),
    schemaPath: String(schemaPath),
    keyword: String(keyword),
    params: publicParams,
    message: String(message),
  }
}

/**
 * Ranks the errors of alternatives. The intended alternative fails at a deeper place; one of another type, or
 * one that allows no value, was not intended; that no alternative fits says least.
 */
function rankOf(error: Readonly<Record<string, unknown>>): number {
  const depth = String(error['instancePath']).split('/').length
  return kindOf(error) - 4 * depth
}

function kindOf({ keyword, params }: Readonly<Record<string, unknown>>): number {
  if (SUMMARIES.has(keyword)) return 3
  const isNull = isObject(params) && (params['allowedValue'] === null || params['type'] === 'null')
  if (isNull) return 2
  return keyword === 'type' ? 1 : 0
}
