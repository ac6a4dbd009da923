import { BadRequest } from '../../errors/index.ts'
import { isObject } from '../../value-kind.ts'

/** One thing that is wrong with data or a query, as callers get it in the `data` of the error. */
export interface ValidationIssue {
  /** Where the value stands, as a JSON pointer: `/author/name`. */
  readonly instancePath: string
  /** Where the rule stands in the schema, as a JSON pointer. */
  readonly schemaPath: string
  /** The keyword of the rule. */
  readonly keyword: string
  /** What the rule says: `{ limit: 8 }`. */
  readonly params: Readonly<Record<string, unknown>>
  /** What the value must be. */
  readonly message: string
}

/** So many of the faults of a call are told. */
const MAX_ISSUES = 20

/** Keywords that repeat what the errors of their alternatives say. */
const SUMMARIES: ReadonlySet<unknown> = new Set(['anyOf', 'oneOf', 'if'])

/**
 * Returns the error for what a check has found, with the list of it as its `data`: `instancePath`,
 * `schemaPath`, `keyword`, `params` and `message` of each, never a value that was sent. Where there are
 * alternatives, the one that the value comes closest to is first.
 */
export function createValidationError(found: readonly unknown[]): BadRequest {
  const errors = found.filter(isObject)
  const isSorted = !errors.some(({ keyword }) => SUMMARIES.has(keyword))
  const sorted = isSorted ? errors : errors.toSorted((one, other) => rankOf(one) - rankOf(other))
  return new BadRequest('validation failed', sorted.slice(0, MAX_ISSUES).map(toIssue))
}

/**
 * Returns the error of a list for that of the items before, if there is one, and that of an item, with its
 * index in the paths.
 * @throws {unknown} the first error, where it is none of the validation
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
  if (before === undefined) return new BadRequest(error.message, placed, { cause: error.cause })
  const all = [...(readIssues(before) ?? []), ...placed]
  return new BadRequest('validation failed', all.slice(0, MAX_ISSUES))
}

/** Whether an error has no room for the faults of further items. */
export function isFull(error: BadRequest): boolean {
  return (readIssues(error)?.length ?? 0) >= MAX_ISSUES
}

/** Returns what an error of validation tells, `undefined` for any other. */
function readIssues(error: unknown): readonly ValidationIssue[] | undefined {
  if (!(error instanceof BadRequest) || !Array.isArray(error.data)) return undefined
  const issues: readonly unknown[] = error.data
  return issues.every(isIssue) ? issues : undefined
}

function isIssue(value: unknown): value is ValidationIssue {
  return isObject(value) && typeof value['instancePath'] === 'string'
}

/**
 * Returns the error that callers get for one that a validator has thrown: those of Ajv, and of validators
 * of `@feathersjs/schema` with it, become a `BadRequest`, others stay what they are.
 */
export function toValidationError(thrown: unknown): unknown {
  if (!isObject(thrown) || thrown['ajv'] !== true || !Array.isArray(thrown['errors'])) return thrown
  return createValidationError(thrown['errors'])
}

/** Copies what is public: with some options, the errors of Ajv hold the value and the schema too. */
function toIssue(error: Readonly<Record<string, unknown>>): ValidationIssue {
  const { instancePath = '', schemaPath = '', keyword = '', params, message = '' } = error
  // Of a discriminator, Ajv repeats the value that was sent.
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
 * A place further inside is reached by the alternative that was meant, one of another type was not meant,
 * that there may be no value neither, and that there was no alternative says least.
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
